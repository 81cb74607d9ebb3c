"""A crew of worker processes on this machine."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from fedflip._arguments import mapped, text
from fedflip._crew import CrewLearner, Trained, nothing_outstanding
from fedflip._crew_base import WorkerCrew
from fedflip._errors import InputError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_checks import checked_timeout
from fedflip._learner_layout import Array
from fedflip._process_dispatch import PREFETCH, Dispatcher
from fedflip._process_memory import SharedMemory
from fedflip._process_parcel import Parcel, unpack
from fedflip._process_pool import Post, WorkerProcess, checked_workers, close_all

__all__ = ["ProcessCrew"]


class ProcessCrew(WorkerCrew[Dispatcher]):
    """Worker processes that train a Python learner or a native task.

    The workers start once and load the learner once. Large arrays in the learner are in memory that all workers share.
    A model is written to shared memory once, however many workers train from it, and updates come back in the same way.

    A worker that crashes is started again, and its unfinished trainings are repeated. A training in which three workers
    crash, or that hangs twice, is a ``LearnerError`` that names device and round; other trainings continue. Workers have one
    thread each, ignore Ctrl-C, and end by themselves if this process ends in any way.

    Results do not depend on the number of workers.

    Args:
        workers: The number of processes; by default one for each core.
        timeout_secs: The time limit of one training, loss or evaluation. By default that of the learner, or none.
        start_method: ``"spawn"``, the only one: new processes. Forks are unsafe in a process with threads.

    Examples:
        >>> with ProcessCrew(workers=2) as crew:  # doctest: +SKIP
        ...     crew.open(FlatLearner(learner))
        ...     crew.train(model, [TrainKey(seed=1, round=1, device=0)])
        ...     device, update, loss = crew.next()
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        timeout_secs: float | None = None,
        start_method: str | None = None,
    ) -> None:
        super().__init__()
        self.workers = checked_workers(workers)
        self.timeout_secs = checked_timeout(timeout_secs)
        if start_method not in (None, "spawn"):
            raise InputError(
                f"start_method is {start_method!r}; worker processes are started with 'spawn'",
                where="start_method",
                value=start_method,
                remedy="leave start_method out; a fork of a process with threads may hang",
            )
        self._pool: list[WorkerProcess] = []
        self._finalizer: weakref.finalize[Any, Any] | None = None
        self._outstanding = 0

    def __repr__(self) -> str:
        state = "open" if self._dispatcher is not None else "closed"
        return f"ProcessCrew(workers={self.workers}, timeout_secs={self.timeout_secs}) ({state})"

    @property
    def outstanding(self) -> int:
        """The number of trainings whose results ``next`` has not returned."""
        return self._outstanding

    @property
    def process_ids(self) -> list[int]:
        """The process ids of the workers that run at the moment."""
        return [worker.process.pid for worker in self._pool]

    def open(self, work: CrewLearner | bytes, *, environment: Mapping[str, str] | None = None) -> None:
        """Starts the workers, and waits until all of them have loaded the learner.

        Args:
            work: The learner, or bytes of ``pack``.
            environment: Variables of the environment for the workers, in addition to those of this process.
        """
        work = self._checked_work(work)
        variables = _variables(environment)
        self.close()
        work = unpack(work) if isinstance(work, bytes) else work
        limit_secs = self.timeout_secs if self.timeout_secs is not None else work.timeout_secs
        # Here the parent watches the clock, and can do more about it.
        work = copy.copy(work)
        work.timeout_secs = None
        if isinstance(work, FlatLearner):
            work._watch = None
        self._size, places = work.size, self.workers * PREFETCH
        post = Post(Parcel(work), SharedMemory(work.size, models=2 * places + 2, updates=places), variables)
        self._finalizer = weakref.finalize(self, close_all, self._pool, post)
        try:
            self._dispatcher = Dispatcher(post, self.workers, limit_secs, self._pool)
            self._dispatcher.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def train(self, model: Array, keys: Sequence[TrainKey]) -> None:
        """Begins one training for each key. The model is copied once."""
        self._outstanding += self._begin(model, keys)

    def next(self) -> Trained:
        """Waits until one more training is over."""
        dispatcher = self._opened()
        if self._outstanding == 0:
            raise nothing_outstanding()
        while not dispatcher.finished:
            dispatcher.pump()
        job = dispatcher.finished.popleft()
        self._outstanding -= 1
        dispatcher.dispatch()
        if job.error is not None:
            raise job.error
        return Trained(job.argument.device, job.update, job.answer)

    def close(self) -> None:
        """Ends the workers. Those that train at the moment are killed."""
        if self._finalizer is not None:
            self._finalizer()
        self._finalizer = self._dispatcher = None
        self._outstanding = 0


def _variables(environment: Any) -> dict[str, str]:
    """Variables of the environment: texts by name."""
    remedy = 'give texts by name, such as {"OMP_NUM_THREADS": "1"}'
    return mapped("environment", environment, "a dict of texts", text, remedy)
