"""What all crews of clusters have in common: the protocol ``Crew`` over a dispatcher."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedflip._arguments import flag, number
from fedflip._cluster_dispatch import Dispatcher
from fedflip._cluster_jobs import Job
from fedflip._cluster_probe import Roll, report_of
from fedflip._cluster_runs import keep
from fedflip._crew import CrewLearner, Trained, nothing_outstanding
from fedflip._crew_base import WorkerCrew
from fedflip._errors import FedflipError
from fedflip._key import TrainKey
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner
from fedflip._process_parcel import pack, unpack

if TYPE_CHECKING:
    from fedflip._cluster_engine import Engine

__all__ = ["WORKERS_REMEDY", "ClusterCrew"]

WORKERS_REMEDY = "give the number of processors or GPUs that the workers use"

_log = logging.getLogger("fedflip")


class ClusterCrew(WorkerCrew[Dispatcher]):
    """The base of ``RayCrew``, ``MpiCrew`` and ``ExecutorCrew``.

    Args:
        mixed: Admit workers that differ in processor, version or data.
        join_secs: The longest time without any worker.
    """

    #: Whether ``close`` waits for what workers have begun, because nobody can end it.
    _waits_at_close = False

    def __init__(self, *, mixed: bool, join_secs: float) -> None:
        super().__init__()
        remedy = "give the time that the slowest worker takes to start and to load its data"
        self.mixed = flag("mixed", mixed)
        self.join_secs = number("join_secs", join_secs, above=0, remedy=remedy)
        self._engine: Engine | None = None
        self._roll = Roll(mixed)
        #: The seconds that the workers took to join.
        self.joined_secs = 0.0

    def _make_engine(self) -> Engine:
        """The engine that carries the orders."""
        raise NotImplementedError

    @property
    def outstanding(self) -> int:
        """The number of trainings whose results ``next`` has not returned."""
        return 0 if self._dispatcher is None else self._dispatcher.outstanding

    @property
    def workers_joined(self) -> list[str]:
        """The names of the workers that have joined: host and process."""
        return sorted(self._roll.workers)

    def note(self) -> tuple[str, int, list[str]]:
        """What a run's folder keeps of the crew: its kind, the number of workers, and those that differ."""
        return type(self).__name__, len(self._roll.workers), list(self._roll.different.values())

    def open(self, work: CrewLearner | bytes) -> None:
        """Starts the workers, and waits until they have loaded the learner and trained the probe.

        Raises:
            FedflipError: If a worker differs from the others, unless ``mixed``, or if no worker joins.
            LearnerError: If a worker cannot load the learner.
        """
        work = self._checked_work(work)
        self.close()
        parcel = work if isinstance(work, bytes) else pack(work)
        work = unpack(work) if isinstance(work, bytes) else work
        self._size, self._roll = work.size, Roll(self.mixed)
        if isinstance(work, NativeLearner):
            # This process evaluates native tasks itself: it must be like its workers.
            self._roll.compare_with(report_of(work))
            work.close()
        begun = time.monotonic()
        try:
            self._engine = self._make_engine()
            self._engine.start(parcel)
            self._dispatcher = Dispatcher(self._engine, self._roll, self._size, self.join_secs)
            self._dispatcher.join_all()
        except BaseException:
            self.close()
            raise
        self.joined_secs = time.monotonic() - begun

    def train(self, model: Array, keys: Sequence[TrainKey]) -> None:
        """Begins one training for each key. The model travels once to each machine."""
        self._begin(model, keys)

    def next(self) -> Trained:
        """Waits until one more training is over."""
        dispatcher = self._opened()
        if dispatcher.outstanding == 0:
            raise nothing_outstanding()
        job, update = dispatcher.next()
        if job.error is not None or update is None:
            raise job.error or nothing_outstanding()
        return Trained(job.argument.device, update, job.answer)

    @property
    def runs_at_once(self) -> int:
        """The number of workers that can do whole runs."""
        return 0 if self._engine is None else self._engine.slots

    def whole_runs(self, runs: Sequence[tuple[str, bytes | None, str]]) -> Iterator[int]:
        """Does whole runs, and gives control back about once a second, with the number of runs that are left.

        The folder of a run is there as soon as the run is over. A caller that stops here leaves the others undone. After a
        run that failed, no worker begins another one, and the error is raised; what is over by then is kept.

        Args:
            runs: The text of a scenario, the fleet as CSV if a file has it, and the folder of each run.
        """
        dispatcher = self._opened()
        # A run makes its own first model.
        model = np.zeros(0, np.float32)
        jobs = dispatcher.begin("run", model, [(text, fleet) for text, fleet, _ in runs])
        left = {job.ticket: (job, folder) for job, (_, _, folder) in zip(jobs, runs, strict=True)}
        try:
            while (error := self._keep_done(left)) is None and left:
                yield len(left)
                dispatcher.pump()
        finally:
            self._end_runs(left)
        if error is not None:
            raise error

    def _keep_done(self, left: dict[int, tuple[Job, str]]) -> FedflipError | None:
        """Keeps the runs that are over, and takes them out; returns the error of one that failed."""
        failed: FedflipError | None = None
        for ticket, (job, folder) in list(left.items()):
            if not job.done:
                continue
            del left[ticket]
            if job.error is not None:
                failed = failed or job.error
                continue
            name, packed = job.answer
            # A folder may be as large as several models.
            job.answer = None
            differs = [sentence for sentence in [self._roll.different.get(name)] if sentence is not None]
            workers = {"crew": type(self).__name__, "joined": 1}
            keep(packed, folder, {**workers, "mixed": differs} if differs else workers)
        return failed

    def _end_runs(self, left: dict[int, tuple[Job, str]]) -> None:
        """No worker begins another run. Where nobody can end those that have begun, their results are waited for and kept."""
        while left and (dispatcher := self._dispatcher) is not None:
            begun = dispatcher.withdraw([job for job, _ in left.values()])
            for ticket in left.keys() - {job.ticket for job in begun}:
                del left[ticket]
            if not self._waits_at_close or not left:
                return
            _log.info("waiting for %d runs that workers have begun", len(left))
            dispatcher.pump()
            self._keep_done(left)

    def close(self) -> None:
        """Ends the workers. Outstanding trainings are lost; the crew may be opened again."""
        engine, self._engine, self._dispatcher = self._engine, None, None
        if engine is not None:
            engine.close()
