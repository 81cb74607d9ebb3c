"""Comparisons of schemes, sweeps over keys, and pilots."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedflip import _fedflip
from fedflip._arguments import count, flag, listed, number, path_text, text, wrong
from fedflip._compare_schemes import chosen_schemes, reference_of
from fedflip._comparison import Comparison, Pilot, Sweep
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback
from fedflip._options import Options
from fedflip._plan import Plan
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
        schemes: Names of schemes, objects of ``Scheme``, callables that draw cohorts, or plans. All runs have the fleet,
            the bandwidth and the other costs of the plans, which must agree. Probabilities of your own
            (``Plan.from_q``) are the scheme ``file=plan.csv``, and further ones ``file=plan-2.csv`` and so on.
        seeds: Runs of each scheme, with the scenario's seed and those after it.
        reference: The scheme that ratios are to; by default ``"paper"``, or the first scheme.
        pilots: Measure α and β first, if a scheme needs them and no plan has them. Otherwise the scenario's values count.
        give_up: End a run that takes more than this multiple of the reference's time; None ends no run.
        out: The folder of all runs. Without one, they are in a temporary folder as long as the comparison or one of
            its runs lives.
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
    chosen = chosen_schemes(schemes)
    first = reference_of(reference, chosen)
    plans = [each.given for each in chosen if isinstance(each.given, Plan)]
    # Constants that a plan was made with are those of all runs.
    measures = flag("pilots", pilots) and all(plan.alpha is None for plan in plans)
    runs = count("seeds", seeds, least=1, remedy="say how many runs each scheme has, such as seeds=3")
    limit = number("give_up", give_up, optional=True, above=0, remedy="give a multiple such as 10, or None")
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    kept: tempfile.TemporaryDirectory[str] | None = None
    if options.out is None:
        kept = tempfile.TemporaryDirectory(prefix="fedflip-")
        options.out = kept.name
    with Work(work, fleet=fleet, plans=plans, stop=stop, seed=seed, workers=workers, crew=crew, threads=options.threads,
              timeout_secs=timeout_secs, keys=keys) as ready, options.watched() as native:  # fmt: skip
        schemes_native = [each.native for each in chosen]
        found = _fedflip.compare(
            ready.scenario, native, schemes_native, first, runs, limit, measures, **ready.native
        )
    if found is None:
        raise FedflipError("a callback ended the comparison", remedy=_RESUME)
    return Comparison(json.loads(found), Path(options.out), kept)


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
    axes = _axes(over)
    folder_of_all = path_text("out", out, optional=True)
    clash = sorted(set(axes) & set(arguments))
    if clash:
        raise InputError(
            f"{clash[0]} is both an argument and an axis of the sweep",
            where=clash[0],
            value=arguments[clash[0]],
            remedy="leave it out of one of the two",
        )
    points = []
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        name = ",".join(f"{key}={value}" for key, value in at.items()).replace(os.sep, "+")
        folder = None if folder_of_all is None else Path(folder_of_all) / name
        points.append((at, compare(work, out=folder, **arguments, **at)))
    return Sweep(points)


def _axes(over: Any) -> dict[str, list[Any]]:
    """The values of each key of a sweep."""
    remedy = "name keys with their values, such as over={'bandwidth_mbps': [10, 100]}"
    if not isinstance(over, Mapping) or not over:
        raise wrong("over", over, "a dict of keys and values", remedy)
    axes = {
        text("over", key): listed("over", values, "a list of values", remedy=remedy)
        for key, values in over.items()
    }
    if not all(axes.values()):
        raise InputError("over: a key has no values", where="over", value=over, remedy=remedy)
    return axes


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
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    with Work(work, fleet=fleet, seed=seed, workers=workers, crew=crew, threads=options.threads, timeout_secs=timeout_secs,
              keys=keys) as ready, options.watched() as native:  # fmt: skip
        found = _fedflip.pilot(ready.scenario, native, ready.native.get("trainer"))
    if found is None:
        raise FedflipError("a callback ended the pilots", remedy=_RESUME)
    return Pilot(**json.loads(found))
