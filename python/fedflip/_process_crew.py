"""A crew of worker processes on this machine."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, get_args

import numpy as np

from fedflip._arguments import count, instance, listed, shown, text, wrong
from fedflip._crew import CrewLearner, Trained, not_open, nothing_outstanding
from fedflip._errors import InputError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_checks import checked_timeout
from fedflip._learner_layout import Array
from fedflip._process_dispatch import PREFETCH, Dispatcher
from fedflip._process_memory import SharedMemory
from fedflip._process_parcel import Parcel, refuse_in_worker, unpack
from fedflip._process_pool import Post, WorkerProcess, checked_workers, close_all

__all__ = ["ProcessCrew"]


class ProcessCrew:
    """Worker processes that train a Python learner or a native task.

    The workers start once and load the learner once. Large arrays in the learner are in memory that all workers share.
    A model is written to shared memory once, however many workers train from it, and updates come back in the same way.

    A worker that crashes is started again, and its unfinished trainings are repeated. A training in which three workers
    crash, or that hangs twice, is a ``LearnerError`` that names device and round; other trainings go on. Workers have one
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
        self._dispatcher: Dispatcher | None = None
        self._size = self._outstanding = 0

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
        refuse_in_worker()
        remedy = "write crew.open(ff.FlatLearner(learner))"
        instance("work", work, (*get_args(CrewLearner), bytes), "a FlatLearner", remedy=remedy)
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
        remedy = "give a list such as [TrainKey(seed=1, round=1, device=0)]"
        trainings = listed("keys", keys, "a list of keys", each=_key, remedy=remedy)
        begun = self._opened().begin("train", self._checked(model), trainings)
        self._outstanding += len(begun)

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

    def losses(self, model: Array, devices: Sequence[int]) -> list[float]:
        """The mean loss of a model on the samples of each device. Losses go before trainings that have not begun."""
        dispatcher = self._opened()
        asked = listed("devices", devices, "a list of devices", each=count)
        return dispatcher.answers(dispatcher.begin("loss", self._checked(model), asked))

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """The metrics of a model, by one worker. The evaluation goes before trainings that have not begun."""
        dispatcher = self._opened()
        [answer] = dispatcher.answers(dispatcher.begin("evaluate", self._checked(model), [None]))
        metrics: dict[str, tuple[float, float]] = answer
        return metrics

    def close(self) -> None:
        """Ends the workers. Those that train at the moment are killed."""
        if self._finalizer is not None:
            self._finalizer()
        self._finalizer = self._dispatcher = None
        self._outstanding = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> Dispatcher:
        if self._dispatcher is None:
            raise not_open()
        return self._dispatcher

    def _checked(self, model: Array) -> Array:
        if not isinstance(model, np.ndarray) or model.shape != (self._size,) or model.dtype != np.float32:
            raise InputError(
                f"the model is {shown(model)}, not a flat float32 array of {self._size:,} parameters",
                where="model",
                value=model,
                remedy="use a model of this learner",
            )
        return model


def _key(where: str, value: Any) -> TrainKey:
    """A key whose numbers a worker can use."""
    key: TrainKey = instance(where, value, TrainKey, "a TrainKey")
    return key


def _variables(environment: Any) -> dict[str, str]:
    """Variables of the environment: texts by name."""
    if environment is None:
        return {}
    remedy = 'give texts by name, such as {"OMP_NUM_THREADS": "1"}'
    if not isinstance(environment, Mapping):
        raise wrong("environment", environment, "a dict of texts", remedy)
    return {
        text("environment", name, remedy=remedy): text(f"environment[{name!r}]", value, remedy=remedy)
        for name, value in environment.items()
    }
