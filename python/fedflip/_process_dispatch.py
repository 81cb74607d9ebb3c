"""The orders of a crew of processes: who does what, and what happens when a worker dies or hangs."""

from __future__ import annotations

import logging
import select
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from fedflip._errors import LearnerError
from fedflip._learner_layout import Array
from fedflip._process_jobs import Job, ModelRows
from fedflip._process_pool import Post, WorkerProcess, died_of
from fedflip._process_worker import Order

__all__ = ["PREFETCH", "Dispatcher"]

#: A worker has its next order before it is done with the present one.
PREFETCH = 2
#: This number of workers in a row may die of one training, and as many may die before they are ready.
_CRASHES_MAX = 3
_TIMEOUTS_MAX = 2
#: Deaths are usually seen at once; a child of a worker may hide one for so long.
_LOOK_SECS = 0.5

_LOOK_AT_STDERR = "their messages on stderr say why; try fewer workers if memory is short"

_log = logging.getLogger("fedflip")


class Dispatcher:
    """Gives jobs to workers and collects the results. Nothing happens between calls, except in the workers.

    Args:
        post: What all workers share.
        workers: The number of workers.
        limit_secs: The time limit of one job; None for no limit.
        pool: Takes the workers, and always holds those that run.
    """

    def __init__(self, post: Post, workers: int, limit_secs: float | None, pool: list[WorkerProcess]) -> None:
        self._post, self._limit_secs, self._pool = post, limit_secs, pool
        #: Trainings that are over, the oldest first.
        self.finished: deque[Job] = deque()
        self._rows = ModelRows(post.memory)
        self._free_places = list(range(len(post.memory.updates)))
        self._waiting: deque[Job] = deque()
        self._urgent: deque[Job] = deque()
        self._jobs: dict[int, Job] = {}
        self._tickets = self._failed_starts = 0
        self._poll = select.poll()
        self._watched: dict[int, WorkerProcess] = {}
        self._looked = time.monotonic()
        for _ in range(workers):
            pool.append(self._hire())

    def wait_until_ready(self) -> None:
        """Waits until all workers have loaded the learner."""
        while not all(worker.ready for worker in self._pool):
            self.pump()

    def begin(self, kind: str, model: Array, arguments: Sequence[Any]) -> list[Job]:
        """Begins one job for each argument. Other jobs than trainings go before trainings that have not begun."""
        lent = self._rows.admit(model, len(arguments))
        jobs = []
        for argument in arguments:
            self._tickets += 1
            jobs.append(Job(self._tickets, kind, argument, lent))
        self._jobs.update((job.ticket, job) for job in jobs)
        self._queue_of(kind).extend(jobs)
        self.dispatch()
        # Jobs that still wait must not depend on memory of the caller.
        lent.keep()
        return jobs

    def answers(self, jobs: list[Job]) -> list[Any]:
        """Waits until these jobs are done. The error of the first one that failed is raised."""
        while not all(job.done for job in jobs):
            self.pump()
        for job in jobs:
            if job.error is not None:
                raise job.error
        return [job.answer for job in jobs]

    def dispatch(self) -> None:
        """Gives waiting jobs to the workers with the fewest orders."""
        while (queue := self._next_queue()) is not None and self._free_places:
            ready = [worker for worker in self._pool if worker.ready and len(worker.orders) < PREFETCH]
            if not ready:
                return
            worker = min(ready, key=lambda worker: len(worker.orders))
            job = queue[0]
            row = self._rows.row_of(job.model)
            place = self._free_places.pop()
            argument = tuple(job.argument) if job.kind == "train" else job.argument
            if not worker.send(Order(job.ticket, job.kind, row, job.model.number, place, argument)):
                # The worker is gone, which the next look at it will find.
                self._free_places.append(place)
                return
            queue.popleft()

    def pump(self) -> None:
        """Waits for something to happen, and deals with it."""
        timeout = _LOOK_SECS
        if self._limit_secs is not None:
            timeout = min([timeout, *(self._left(worker, self._limit_secs) for worker in self._pool)])
        for descriptor, _ in self._poll.poll(max(0.0, timeout) * 1000):
            worker = self._watched[descriptor]
            message = worker.receive()
            if message is None:
                self._lost(worker)
            else:
                self._deal_with(worker, *message)
        if self._limit_secs is not None:
            for worker in self._pool[:]:
                if worker.orders and self._left(worker, self._limit_secs) <= 0:
                    self._hung(worker, self._limit_secs)
        if time.monotonic() - self._looked > _LOOK_SECS:
            self._looked = time.monotonic()
            for worker in self._pool[:]:
                if worker.process.poll() is not None:
                    self._lost(worker)
        self.dispatch()

    def _left(self, worker: WorkerProcess, limit_secs: float) -> float:
        return worker.since + limit_secs - time.monotonic() if worker.orders else _LOOK_SECS

    def _queue_of(self, kind: str) -> deque[Job]:
        return self._waiting if kind == "train" else self._urgent

    def _next_queue(self) -> deque[Job] | None:
        if self._urgent:
            return self._urgent
        # Results that nobody has fetched yet are bounded, because each of them is as large as a model.
        return self._waiting if self._waiting and len(self.finished) <= 2 * len(self._pool) else None

    def _hire(self) -> WorkerProcess:
        worker = WorkerProcess(self._post)
        self._watched[worker.connection.fileno()] = worker
        self._poll.register(worker.connection.fileno(), select.POLLIN)
        return worker

    def _deal_with(self, worker: WorkerProcess, ticket: int | None, fine: bool, answer: Any) -> None:
        """Deals with one message of a worker."""
        if ticket is None:
            self._started(worker, fine, answer)
            return
        order = worker.answered(ticket)
        job = self._jobs[ticket]
        if fine and job.kind == "train":
            job.update = self._post.memory.updates[order.place].copy()
        self._free_places.append(order.place)
        self._finish(job, answer if fine else None, None if fine else answer)

    def _started(self, worker: WorkerProcess, fine: bool, answer: Any) -> None:
        worker.ready = fine
        if fine:
            self._failed_starts = 0
            return
        problem, trace = answer
        raise LearnerError(
            f"a worker process cannot load the learner: {problem}",
            traceback=trace,
            remedy="define its class at the top level of a module, and let workers import and read all that it needs; "
            "the traceback below is that of the worker",
        )

    def _finish(self, job: Job, answer: Any, error: LearnerError | None) -> None:
        job.done, job.answer, job.error = True, answer, error
        del self._jobs[job.ticket]
        self._rows.release(job.model)
        if job.kind == "train":
            self.finished.append(job)

    def _lost(self, worker: WorkerProcess) -> None:
        """Starts another worker in place of one that died, and repeats its unfinished orders."""
        was_ready = worker.ready
        jobs = self._replace(worker)
        how = died_of(worker.process.returncode)
        if jobs:
            jobs[0].crashes += 1
            _log.warning("a worker process died while it was %s: %s; it is started again", jobs[0].doing, how)
            if jobs[0].crashes >= _CRASHES_MAX:
                problem = f"{_CRASHES_MAX} worker processes died while they were {jobs[0].doing}: {how}"
                self._give_up(jobs.pop(0), problem, _LOOK_AT_STDERR)
        elif not was_ready:
            self._failed_starts += 1
            if self._failed_starts >= _CRASHES_MAX:
                problem = f"{_CRASHES_MAX} worker processes in a row ended before they could load the learner: {how}"
                raise LearnerError(problem, remedy=_LOOK_AT_STDERR)
        self._repeat(jobs)

    def _hung(self, worker: WorkerProcess, limit_secs: float) -> None:
        """Kills a worker that takes too long, and tries its order once more."""
        late = worker.orders[0].ticket
        jobs = self._replace(worker)
        if jobs and jobs[0].ticket == late:
            jobs[0].timeouts += 1
            _log.warning(
                "a worker process was killed: %s took longer than %g seconds", jobs[0].doing, limit_secs
            )
            if jobs[0].timeouts >= _TIMEOUTS_MAX:
                problem = f"{jobs[0].doing} took longer than {limit_secs:g} seconds, {_TIMEOUTS_MAX} times"
                self._give_up(jobs.pop(0), problem, "raise timeout_secs, or find out where the learner hangs")
        self._repeat(jobs)

    def _replace(self, worker: WorkerProcess) -> list[Job]:
        """Starts a worker in the place of another, which ends; returns the unfinished jobs of the other one."""
        worker.kill()
        # Results that arrived at the last moment count.
        while (message := worker.receive(waits=False)) is not None:
            self._deal_with(worker, *message)
        self._poll.unregister(worker.connection.fileno())
        del self._watched[worker.connection.fileno()]
        worker.connection.close()
        self._free_places.extend(order.place for order in worker.orders)
        self._pool[self._pool.index(worker)] = self._hire()
        return [self._jobs[order.ticket] for order in worker.orders]

    def _repeat(self, jobs: list[Job]) -> None:
        for job in reversed(jobs):
            self._queue_of(job.kind).appendleft(job)

    def _give_up(self, job: Job, problem: str, remedy: str) -> None:
        device, round = job.place
        self._finish(job, None, LearnerError(problem, device=device, round=round, remedy=remedy))
