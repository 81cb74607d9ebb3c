"""Sweeps: a comparison at every value of a key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from fedflip import _fedflip
from fedflip._arguments import listed, text, wrong
from fedflip._comparison import Comparison, Sweep
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback
from fedflip._options import Options
from fedflip._overrides import key_paths, overrides_of, path_of, toml_of
from fedflip._stop import Stop
from fedflip._study import DEFAULT_SCHEMES, kept_in, study
from fedflip._work import Work

__all__ = ["sweep"]

_EXAMPLE = "name keys with their values, such as over={'bandwidth_mbps': [10, 100]}"


def sweep(
    work: Any,
    *,
    over: Mapping[str, Iterable[Any]],
    schemes: Sequence[Any] = DEFAULT_SCHEMES,
    seeds: int = 3,
    reference: Any | None = None,
    pilots: bool = True,
    give_up: float | None = 10.0,
    shard: tuple[int, int] | None = None,
    fleet: Any | None = None,
    stop: Stop | None = None,
    seed: int | None = None,
    threads: int | None = None,
    workers: Any | None = None,
    crew: Any | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    data_dir: str | os.PathLike[str] | None = None,
    timeout_secs: float | None = None,
    **keys: Any,
) -> Sweep:
    """A comparison at every value of a key, or at every combination of values of several keys.

    All points are checked before the first one trains. Runs that differ in the clock alone, such as in the bandwidth, are
    trained once and retimed at the other points. A folder has the same files as that of ``fedflip sweep``.

    Args:
        work: A ``Scenario`` or a ``Learner``, as for ``simulate``.
        over: The values of each key, such as ``{"bandwidth_mbps": [10, 50, 100]}``; ``"train.batch"`` names a key with its
            section.
        out: The folder of all comparisons: one folder for each point, and ``sweep.json``. Without one, they are in a temporary
            folder as long as the sweep lives.
        resume: Continue the sweep in the folder, or begin it if there is none.
        schemes, seeds, reference, pilots, give_up, shard: As for ``compare``. The runs of all points are divided among the
            parts, which write no ``sweep.json``.
        fleet, stop, seed, threads, workers, crew, callbacks, progress, data_dir, timeout_secs, **keys: As for ``simulate``.

    Returns:
        The comparison at each point.

    Raises:
        InputError: If a point cannot be compared; the message names the key and its value.
        KeyboardInterrupt: After Ctrl-C; the folder can be resumed.

    Examples:
        >>> from fedflip import Scenario
        >>> found = sweep(Scenario("synthetic"), over={"bandwidth_mbps": [20, 200]}, schemes=["full"], seeds=1,
        ...               target_accuracy=0.5, progress=False)
        >>> [point["bandwidth_mbps"] for point, _ in found.points]
        [20, 200]
        >>> found.retimed
        1
    """
    values = _values(over)
    axes = _axes(values)
    given = {override.key: override.value for override in overrides_of(keys)}
    given.update(
        (path, value) for path, value in (("seed", seed), ("fleet.file", fleet)) if value is not None
    )
    _refuse_both(dict(zip((path for path, _ in axes), values, strict=True)), given)
    how = study(
        schemes, reference=reference, seeds=seeds, give_up=give_up, pilots=pilots, shard=shard, out=out
    )
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    folder, kept = kept_in(options.out)
    options.out = str(folder)
    with Work(work, fleet=fleet, plans=how.plans, stop=stop, seed=seed, workers=workers, crew=crew, threads=options.threads,
              timeout_secs=timeout_secs, data_dir=options.data_dir, keys=keys) as ready, options.watched() as native:  # fmt: skip
        swept = _fedflip.sweep(ready.scenario, axes, native, how.native, **ready.native)
    if swept is None:
        raise FedflipError(
            "a callback ended the sweep",
            remedy="give a folder with out=, and resume there with resume=True",
        )
    result = json.loads(swept[0])
    points, errors = [], []
    for combination, found in zip(product(*values.values()), result["points"], strict=True):
        at = dict(zip(values, combination, strict=True))
        if found["comparison"] is None:
            errors.append((at, found["error"]))
        else:
            points.append((at, Comparison(found["comparison"], folder / found["folder"], kept)))
    return Sweep(points, errors, result=result, folder=folder, retimed=swept[1])


def _values(over: Any) -> dict[str, list[Any]]:
    """The values of each key as lists."""
    if not isinstance(over, Mapping) or not over:
        raise wrong("over", over, "a dict of keys and values", _EXAMPLE)
    values = {}
    for key, some in over.items():
        place = f"over[{text('over', key)!r}]"
        if isinstance(some, Mapping):
            raise wrong(place, some, "a list of values", _EXAMPLE)
        values[key] = listed(place, some, "a list of values", remedy=_EXAMPLE)
    if not all(values.values()):
        raise InputError("over: a key has no values", where="over", value=over, remedy=_EXAMPLE)
    return values


def _axes(over: Mapping[str, list[Any]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The path of each key, and its values as people read them and as TOML."""
    axes = []
    for name, values in over.items():
        inside = [path for path in key_paths() if path.startswith(f"{name}.")]
        if inside:
            raise InputError(
                f"over has {name!r}, which is a section and not a key",
                where="over",
                value=name,
                remedy=f"name a key of the section, such as over={{{inside[0]!r}: […]}}",
            )
        tomls = [toml_of(value, f"over[{name!r}]") for value in values]
        # A text has no quotes in the name of its folder.
        shown = [json.loads(toml) if toml.startswith('"') else toml for toml in tomls]
        axes.append((path_of(name), list(zip(shown, tomls, strict=True))))
    return axes


def _refuse_both(axes: Mapping[str, str], given: Mapping[str, Any]) -> None:
    """A key has one value everywhere, or several on an axis. ``axes`` has the caller's name of each path."""
    for path, value in given.items():
        if path in axes:
            raise InputError(
                f"{axes[path]} is both an argument and an axis of the sweep",
                where=axes[path],
                value=value,
                remedy="leave it out of one of the two",
            )
