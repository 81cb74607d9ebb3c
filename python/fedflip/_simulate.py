"""Simulated runs on a virtual clock."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fedflip import _fedflip
from fedflip._observe import Callback
from fedflip._options import Options
from fedflip._run import Run, open
from fedflip._scenario import Scenario
from fedflip._stop import Stop
from fedflip._work import Work

if TYPE_CHECKING:
    from fedflip._crew import Crew
    from fedflip._fleet import Fleet
    from fedflip._learner import Learner
    from fedflip._plan import Plan
    from fedflip._scheme import Scheme

__all__ = ["simulate"]


def simulate(
    work: Scenario | Learner,
    *,
    fleet: Fleet | Any | None = None,
    plan: Plan | Scheme | str | Any | None = None,
    stop: Stop | None = None,
    seed: int | None = None,
    threads: int | None = None,
    workers: str | Crew | None = None,
    crew: Crew | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    data_dir: str | os.PathLike[str] | None = None,
    timeout_secs: float | None = None,
    **keys: Any,
) -> Run:
    """Runs federated training on a virtual clock, to its target or to a cap.

    A scenario trains a built-in task with native kernels. A learner trains a model of your own. Equal arguments give equal
    records and equal models, to the byte, whatever the number and kind of workers.

    Args:
        work: A ``Scenario``, or a ``Learner`` such as a ``TorchLearner``.
        fleet: The devices: a ``Fleet``, or anything that ``Fleet`` takes. Without one, a scenario has its own fleet, and a
            learner gets one of the paper's five device types.
        plan: A ``Plan``, the name of a scheme, a ``Scheme``, or a callable that draws cohorts.
        stop: The target of a metric.
        seed: The seed of all random numbers.
        threads: The number of threads for native tasks, or of processes with ``workers="process"``; by default as many as the
            machine has processors.
        workers: ``"process"`` trains in worker processes. By default native tasks train in threads of this process, and
            learners in this thread.
        crew: A crew of workers elsewhere, in the place of ``workers``: a ``RayCrew``, ``MpiCrew`` or ``ExecutorCrew``.
        out: The folder of the run. Without one, the run is kept in memory.
        resume: Continue the run in the folder, or begin it if there is none.
        callbacks: Functions that get the record of each round. One that returns True ends the run, which can be resumed.
        progress: Show a progress bar on a terminal or in a notebook, if tqdm is installed.
        data_dir: The folder of public data sets.
        timeout_secs: The time limit of one training of a learner.
        **keys: Further keys of the scenario, such as ``rounds_max=100`` or ``bandwidth_mbps=50``.

    Returns:
        The run. After Ctrl-C, ``KeyboardInterrupt`` is raised, and the folder can be resumed.

    Raises:
        InputError: If an argument cannot be used.
        LearnerError: If the code of a learner fails. The folder can be resumed.

    Examples:
        >>> run = simulate(Scenario("synthetic"), plan="full", rounds_max=3, seed=1, progress=False)
        >>> len(run), run.rounds.columns[0]
        (3, 'round')
    """
    options = Options(threads=threads, out=out, resume=resume, callbacks=callbacks, progress=progress, data_dir=data_dir)  # fmt: skip
    with Work(work, fleet=fleet, plan=plan, stop=stop, seed=seed, workers=workers, crew=crew, threads=options.threads,
              timeout_secs=timeout_secs, data_dir=options.data_dir, keys=keys) as ready, options.watched() as native:  # fmt: skip
        data = _fedflip.simulate(ready.scenario, native, **ready.native)
    if data is not None:
        return Run(data, None)
    assert options.out is not None
    return open(options.out)
