"""Comparisons of schemes, sweeps over keys, and pilots."""

from __future__ import annotations

import itertools
import json
import operator
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedflip import _fedflip
from fedflip._comparison import Comparison, Pilot, Sweep
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback, Watch
from fedflip._scheme import Scheme
from fedflip._stop import Stop
from fedflip._work import Work

__all__ = ["compare", "pilot", "sweep"]

_RESUME = "give a folder with out=, and resume there with resume=True"

#: The schemes of the paper's Table I.
TABLE1 = ("full", "fixed=0.2", "weighted", "uniform", "paper")


def compare(
    work: Any,
    *,
    schemes: Sequence[Any] = ("auto", *TABLE1),
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
) -> Comparison:
    """Runs every scheme with every seed to the target, under equal settings.

    Args:
        work: A ``Scenario`` or a ``Learner``, as for ``simulate``.
        schemes: Names of schemes, objects of ``Scheme``, or callables that draw cohorts.
        seeds: Runs of each scheme, with the scenario's seed and those after it.
        reference: The scheme that ratios are to; by default ``"paper"``, or the first scheme.
        pilots: Measure α and β first, if a scheme needs them. Otherwise the scenario's values count.
        give_up: End a run that takes more than this multiple of the reference's time; None ends no run.
        shard: ``(i, n)`` does part i of n of the runs, counted from 0, and returns the comparison of these runs alone. Once all
            parts are in one folder, a call with ``resume=True`` and without ``shard`` compares all of them.
        out: The folder of all runs. Without one, they are in a temporary folder as long as the comparison lives.
        fleet, stop, seed, threads, workers, crew, resume, callbacks, progress, data_dir, timeout_secs, **keys: As for
            ``simulate``.

    Returns:
        The comparison, with a table and all runs.

    Raises:
        KeyboardInterrupt: After Ctrl-C; the folder can be resumed.

    Examples:
        >>> from fedflip import Scenario
        >>> found = compare(Scenario("synthetic"), schemes=["auto", "full"], seeds=1, target_accuracy=0.5, progress=False)
        >>> [row["scheme"] for row in found.rows]
        ['auto', 'full']
    """
    if not schemes:
        raise InputError(
            "schemes is empty", where="schemes", value=schemes, remedy="name at least one scheme"
        )
    if isinstance(schemes, str):
        raise InputError(
            f"schemes is the text {schemes!r}",
            where="schemes",
            value=schemes,
            remedy=f"write schemes=[{schemes!r}]",
        )
    chosen: list[str | Scheme] = [
        scheme if isinstance(scheme, (str, Scheme)) else Scheme(scheme) for scheme in schemes
    ]
    names = [scheme if isinstance(scheme, str) else f"custom={scheme.name}" for scheme in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"schemes has {twice} twice",
            where="schemes",
            value=twice,
            remedy="name each scheme once; give callables names of their own: ff.Scheme(draw, name='mine')",
        )
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InputError(
            f"seeds is {seeds!r}; it must be a whole number, 1 or more",
            where="seeds",
            value=seeds,
            remedy="say how many runs each scheme has, such as seeds=3",
        )
    first = reference if reference is not None else ("paper" if "paper" in names else chosen[0])
    native = [scheme if isinstance(scheme, str) else scheme._native for scheme in chosen]
    base = first if isinstance(first, str) else _among(first, chosen)
    part = None if shard is None else _part(shard, out)
    kept: tempfile.TemporaryDirectory[str] | None = None
    if out is None:
        kept = tempfile.TemporaryDirectory(prefix="fedflip-")
        out = kept.name
    with Work(work, fleet=fleet, stop=stop, seed=seed, workers=workers, crew=crew, threads=threads,
              timeout_secs=timeout_secs, data_dir=data_dir, keys=keys) as ready:  # fmt: skip
        watch = Watch(callbacks, progress)
        try:
            options = _fedflip.Options(watch, threads, data_dir, out, resume)
            found = _fedflip.compare(
                ready.scenario,
                options,
                native,
                base if isinstance(base, str) else base._native,
                seeds,
                give_up,
                pilots,
                shard=part,
                **ready.native,
            )
        finally:
            watch.close()
    if found is None:
        raise FedflipError("a callback ended the comparison", remedy=_RESUME)
    text, items = found
    comparison = Comparison(json.loads(text), Path(out), kept)
    comparison._items = items
    return comparison


def _part(shard: Any, out: Any) -> tuple[int, int, int]:
    """The part of a comparison: its number, the number of parts, and the number of the first run."""
    try:
        index, count, first = (*map(operator.index, shard), 0)[:3]
    except (TypeError, ValueError):
        raise InputError(
            f"shard is {shard!r}",
            where="shard",
            value=shard,
            remedy="write shard=(i, n), such as shard=(0, 3)",
        ) from None
    if out is None:
        raise InputError(
            "shard is given without out, so nobody could compare its runs with those of the others",
            where="out",
            value=out,
            remedy="give the folder of the comparison with out=",
        )
    if not 0 <= index < count:
        raise InputError(
            f"shard is {shard!r}, and there is no such part",
            where="shard",
            value=shard,
            remedy="write shard=(i, n), where i counts from 0 and is below n",
        )
    return index, count, first


def _among(reference: Any, schemes: list[str | Scheme]) -> Scheme:
    """The scheme of the comparison that was made of this callable or object."""
    for scheme in schemes:
        if isinstance(scheme, Scheme) and reference in (scheme, scheme._draw):
            return scheme
    raise InputError(
        f"reference is {reference!r}, which is not one of the schemes",
        where="reference",
        value=reference,
        remedy="name one of the schemes that are compared",
    )


def sweep(
    work: Any,
    *,
    over: Mapping[str, Sequence[Any]],
    out: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> Sweep:
    """A comparison at every value of a key, or at every combination of values of several keys.

    Args:
        work: A ``Scenario`` or a ``Learner``, as for ``simulate``.
        over: The values of each key, such as ``{"bandwidth_mbps": [10, 50, 100]}``.
        out: The folder of all comparisons, one folder for each point.
        **arguments: The arguments of ``compare``.

    Returns:
        The comparison at each point.

    Examples:
        >>> from fedflip import Scenario
        >>> found = sweep(Scenario("synthetic"), over={"bandwidth_mbps": [20, 200]}, schemes=["auto"], seeds=1,
        ...               target_accuracy=0.5, progress=False)
        >>> [point["bandwidth_mbps"] for point, _ in found.points]
        [20, 200]
    """
    if not over or any(isinstance(values, str) or not len(values) for values in over.values()):
        raise InputError(
            f"over is {over!r}, which has no points",
            where="over",
            value=over,
            remedy="name keys with their values, such as over={'bandwidth_mbps': [10, 100]}",
        )
    clash = sorted(set(over) & set(arguments))
    if clash:
        raise InputError(
            f"{clash[0]} is both an argument and an axis of the sweep",
            where=clash[0],
            value=arguments[clash[0]],
            remedy="leave it out of one of the two",
        )
    shard = arguments.pop("shard", None)
    points, first = [], 0
    for values in itertools.product(*over.values()):
        at = dict(zip(over, values, strict=True))
        name = ",".join(f"{key}={value}" for key, value in at.items()).replace(os.sep, "+")
        folder = None if out is None else Path(out) / name
        # Runs are numbered over all points.
        part = None if shard is None else (*shard, first)
        points.append((at, compare(work, out=folder, shard=part, **arguments, **at)))
        first += points[-1][1]._items
    return Sweep(points)


def pilot(
    work: Any,
    *,
    fleet: Any | None = None,
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
) -> Pilot:
    """Measures α and β by short runs with q = 1/N and with q = 1, to the loss ``pilot={"loss": …}``.

    Args:
        work: A ``Scenario`` or a ``Learner``, whose evaluation has a metric ``"loss"``.
        fleet, seed, threads, workers, crew, out, resume, callbacks, progress, data_dir, timeout_secs, **keys: As for
            ``simulate``.

    Returns:
        The constants for ``plan(alpha=, beta=)``.

    Examples:
        >>> from fedflip import Scenario
        >>> constants = pilot(Scenario("synthetic"), pilot={"loss": 2.0}, progress=False)
        >>> constants.alpha > 0
        True
    """
    with Work(work, fleet=fleet, seed=seed, workers=workers, crew=crew, threads=threads, timeout_secs=timeout_secs,
              data_dir=data_dir, keys=keys) as ready:  # fmt: skip
        watch = Watch(callbacks, progress)
        try:
            options = _fedflip.Options(watch, threads, data_dir, out, resume)
            text = _fedflip.pilot(ready.scenario, options, **ready.native)
        finally:
            watch.close()
    if text is None:
        raise FedflipError("a callback ended the pilots", remedy=_RESUME)
    return Pilot(**json.loads(text))
