"""What all crews of clusters have in common: the protocol ``Crew`` over a dispatcher."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedflip._arguments import flag, number
from fedflip._cluster_dispatch import Dispatcher
from fedflip._cluster_probe import Roll, report_of
from fedflip._crew import CrewLearner, Trained, nothing_outstanding
from fedflip._crew_base import WorkerCrew
from fedflip._key import TrainKey
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner
from fedflip._process_parcel import pack, unpack

if TYPE_CHECKING:
    from fedflip._cluster_engine import Engine

__all__ = ["WORKERS_REMEDY", "ClusterCrew"]

WORKERS_REMEDY = "give the number of processors or GPUs that the workers use"


class ClusterCrew(WorkerCrew[Dispatcher]):
    """The base of ``RayCrew``, ``MpiCrew`` and ``ExecutorCrew``.

    Args:
        mixed: Admit workers that differ in processor, version or data.
        join_secs: The longest time without any worker.
    """

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
        return type(self).__name__, len(self._roll.workers), list(self._roll.different)

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
        """The number of workers that can do whole runs of a native task."""
        return 0 if self._engine is None else self._engine.slots

    def whole_runs(self, runs: Sequence[tuple[str, str]]) -> Iterator[int]:
        """Does whole runs, and gives control back about once a second, with the number of runs that are left.

        The folder of a run is there as soon as the run is over. A caller that stops here leaves the others undone.
        """
        from fedflip._cluster_runs import keep

        dispatcher = self._opened()
        jobs = dispatcher.begin("run", np.zeros(self._size, np.float32), [text for text, _ in runs])
        left = {job.ticket: (job, folder) for job, (_, folder) in zip(jobs, runs, strict=True)}
        while left:
            for ticket, (job, folder) in list(left.items()):
                if job.done:
                    [packed] = dispatcher.answers([job])
                    keep(packed, folder)
                    # A folder may be as large as several models.
                    job.answer = None
                    del left[ticket]
            yield len(left)
            if left:
                dispatcher.pump()

    def close(self) -> None:
        """Ends the workers. Outstanding trainings are lost; the crew may be opened again."""
        engine, self._engine, self._dispatcher = self._engine, None, None
        if engine is not None:
            engine.close()
