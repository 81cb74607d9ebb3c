"""A crew over any executor: the standard library, Dask, Parsl, loky."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from hashlib import sha256
from typing import Any

from fedflip._arguments import count, wrong
from fedflip._cluster_crew import WORKERS_REMEDY, ClusterCrew
from fedflip._cluster_engine import Answered, Event, Gone, Joined, Order
from fedflip._cluster_worker import do_in_process, forget, forget_in
from fedflip._errors import FedflipError
from fedflip._learner_layout import Array

__all__ = ["ExecutorCrew"]


class ExecutorCrew(ClusterCrew):
    """Workers that belong to a ``concurrent.futures.Executor``.

    A process of the executor loads learner and data once, with its first order. The model travels with each order, so
    ``RayCrew`` and ``MpiCrew`` are faster for large models. Set ``OMP_NUM_THREADS=1`` where the executor starts them. Threads
    of one process train built-in tasks at the same time, but learners of Python one after the other.

    Args:
        executor: The executor, which stays open; or a function that makes one. The crew calls the function again after an
            executor broke, and shuts its last executor down at the end.
        workers: The number of orders at a time: the number of workers of the executor.
        mixed: Admit workers that differ in processor, version or data.
        join_secs: The longest time without any worker.

    Examples:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from fedflip import Scenario, simulate
        >>> with ThreadPoolExecutor(2) as executor:
        ...     crew = ExecutorCrew(executor, workers=2)
        ...     run = simulate(Scenario("synthetic"), crew=crew, rounds_max=2, seed=1, progress=False)
        >>> len(run)
        2
    """

    _waits_at_close = True

    def __init__(
        self,
        executor: Executor | Callable[[], Executor],
        workers: int,
        *,
        mixed: bool = False,
        join_secs: float = 300.0,
    ) -> None:
        super().__init__(mixed=mixed, join_secs=join_secs)
        if not isinstance(executor, Executor) and not callable(executor):
            raise wrong("executor", executor, "an Executor", "give client.get_executor() of Dask or another")
        self.executor = executor
        self.workers = count("workers", workers, least=1, remedy=WORKERS_REMEDY)

    def __repr__(self) -> str:
        return f"ExecutorCrew({self.executor!r}, workers={self.workers})"

    def _make_engine(self) -> _ExecutorEngine:
        return _ExecutorEngine(self.executor, self.workers)


class _ExecutorEngine:
    """Orders as calls of a function, and answers as futures."""

    def __init__(self, source: Executor | Callable[[], Executor], slots: int) -> None:
        self._source, self.slots = source, slots
        self._executor: Executor | None = source if isinstance(source, Executor) else None
        self._calls: dict[Future[Any], tuple[int, Order | None, Executor]] = {}
        self._gone, self._updates = dict[int, Gone](), dict[int, Array]()

    def start(self, parcel: bytes) -> None:
        self._parcel, self._token = parcel, sha256(parcel).hexdigest()

    def join(self, slot: int) -> None:
        self._submit(slot, None, True)

    def publish(self, model: Array) -> Array:
        return model

    def send(self, slot: int, order: Order) -> None:
        self._submit(slot, order, False)

    def wait(self, secs: float) -> list[Event]:
        events, gone, self._gone = list[Event](), self._gone, dict[int, Gone]()
        done, _ = wait(list(self._calls), 0 if gone else secs, FIRST_COMPLETED)
        for call in done:
            slot, order, executor = self._calls.pop(call)
            try:
                found = call.result()
            except Exception as error:
                # A pool that breaks takes all its workers with it, whoever was to blame.
                if (broke := isinstance(error, BrokenExecutor)) and executor is self._executor:
                    self._executor = None
                gone.setdefault(slot, Gone(slot, f"{type(error).__name__}: {error}", broke))
                continue
            events.extend(self._events(slot, order, found))
        self._calls = {call: what for call, what in self._calls.items() if what[0] not in gone}
        return [*events, *gone.values()]

    def _events(self, slot: int, order: Order | None, found: Any) -> list[Event]:
        if found is None:
            self._submit(slot, order, True)
            return []
        report, done = found
        if order is None or done is None:
            return [Joined(slot, report)]
        fine, answer, update = done
        if update is not None:
            self._updates[order.ticket] = update
        # The order may have come to a process that nobody has seen yet.
        return [Joined(slot, report), Answered(slot, order.ticket, fine, answer)]

    def fetch(self, ticket: int) -> Array:
        return self._updates.pop(ticket)

    def close(self) -> None:
        for call in self._calls:
            call.cancel()
        if self._executor is not None and isinstance(self._source, Executor):
            forget_in(self._executor, self._token, self.slots)
        elif self._executor is not None:
            self._executor.shutdown(wait=True)
        forget(self._token)  # Threads have it in this process.

    def _submit(self, slot: int, order: Order | None, with_learner: bool) -> None:
        executor = self._executor = self._executor or self._another()
        what = None if order is None else (order.kind, order.number, order.model, order.argument)
        try:
            call = executor.submit(do_in_process, self._token, self._parcel if with_learner else None, what)
            self._calls[call] = (slot, order, executor)
        except BrokenExecutor as error:
            self._executor, self._gone[slot] = None, Gone(slot, str(error), True)
        except RuntimeError as error:  # It is shut down.
            remedy = "leave the executor open until the run is over, then resume the run"
            raise FedflipError(f"the executor takes no more orders: {error}", remedy=remedy) from error

    def _another(self) -> Executor:
        """A new executor in the place of one that has broken."""
        if isinstance(self._source, Executor):
            remedy = "resume the run; a function in the place of the executor could make another one"
            raise FedflipError("the executor broke, because one of its workers died", remedy=remedy)
        made = self._source()
        if not isinstance(made, Executor):
            raise wrong("executor", made, "an Executor", "give a function that returns an Executor")
        return made
