"""Comparisons of schemes, and pilots."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from fedflip import _fedflip
from fedflip._comparison import Comparison, Pilot
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback
from fedflip._options import Options
from fedflip._stop import Stop
from fedflip._study import DEFAULT_SCHEMES, kept_in, study
from fedflip._work import Work

__all__ = ["compare", "pilot"]

_RESUME = "give a folder with out=, and resume there with resume=True"


def compare(
    work: Any,
    *,
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
) -> Comparison:
    """Runs every scheme with every seed to the target, under equal settings.

    Args:
        work: A ``Scenario`` or a ``Learner``, as for ``simulate``.
        schemes: Names of schemes, objects of ``Scheme``, callables that draw cohorts, or plans. All runs have the fleet,
            the bandwidth and the other costs of the plans, which must agree. Probabilities of your own
            (``Plan.from_q``) are the scheme ``file=plan.csv``, and further ones ``file=plan-2.csv`` and so on.
        seeds: Runs of each scheme, with the scenario's seed and the seeds after it.
        reference: The scheme with which ratios compare; by default ``"paper"``, or the first scheme.
        pilots: Measure α and β first, if a scheme needs them and no plan has them. Otherwise the scenario's values count.
        give_up: End a run that takes more than this multiple of the reference's time; None ends no run.
        shard: ``(i, n)`` does part i of n of the runs, counted from 0, and returns the comparison of these runs alone. Once all
            parts are in one folder, a call with ``resume=True`` and without ``shard`` compares all of them.
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
    how = study(
        schemes, reference=reference, seeds=seeds, give_up=give_up, pilots=pilots, shard=shard, out=out
    )
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    folder, kept = kept_in(options.out)
    options.out = str(folder)
    with Work(work, fleet=fleet, plans=how.plans, stop=stop, seed=seed, workers=workers, crew=crew, threads=options.threads,
              timeout_secs=timeout_secs, data_dir=options.data_dir, keys=keys) as ready, options.watched() as native:  # fmt: skip
        found = _fedflip.compare(ready.scenario, native, how.native, **ready.native)
        first_seed = json.loads(ready.scenario.json())["seed"]
    if found is None:
        raise FedflipError("a callback ended the comparison", remedy=_RESUME)
    return Comparison(json.loads(found), folder, kept, first_seed)


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
    if isinstance(keys.get("stop"), Stop):
        raise InputError(
            "pilots do not run to a target, but to a value of the metric loss",
            where="stop",
            value=keys["stop"],
            remedy='leave stop out, and set that value with pilot={"loss": …}',
        )
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    with Work(work, fleet=fleet, seed=seed, workers=workers, crew=crew, threads=options.threads, timeout_secs=timeout_secs,
              data_dir=options.data_dir, keys=keys) as ready, options.watched() as native:  # fmt: skip
        found = _fedflip.pilot(ready.scenario, native, **ready.native)
    if found is None:
        raise FedflipError("a callback ended the pilots", remedy=_RESUME)
    return Pilot(**json.loads(found))
