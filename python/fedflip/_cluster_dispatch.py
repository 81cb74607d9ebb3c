"""The work queue of a cluster: who does what, what is repeated, and how much is held in memory."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedflip._cluster_engine import Answered, Engine, Event, Gone, Joined, LostError, Order
from fedflip._cluster_jobs import Job, Model, Slot
from fedflip._cluster_probe import Roll
from fedflip._errors import FedflipError, LearnerError
from fedflip._learner_layout import Array

__all__ = ["Dispatcher", "Job"]

#: A worker has its next order before it is done with the present one.
PREFETCH = 2
#: So often may workers be lost with one training before the training is to blame.
LOSSES_MAX = 5
#: So often may a training be lost together with others before it is repeated alone, which shows whether it is to blame.
_TOGETHER_MAX = 2
#: Updates ahead of the oldest outstanding one may take so much memory in this process.
HELD_BYTES = 512 << 20
_WAIT_SECS = 1.0
#: So often in a row may each worker fail to join before the first one has joined.
FAILURES_MAX = 3
#: A worker that fails to join is asked again after a while, which doubles each time up to a limit.
#: After this time without all workers, whoever waits is told.
_TELL_SECS = 10.0
_ASK_AGAIN_SECS = (0.1, 30.0)

_log = logging.getLogger("fedflip")


class Dispatcher:
    """Gives orders to workers, repeats those of lost workers, and returns updates nearly in the order of their keys.

    Updates stay where they are until their turn has nearly come. An update is fetched only if it is among the next few
    that the caller waits for, so this process never holds more than about ``HELD_BYTES`` of them.

    Args:
        engine: Carries orders and answers.
        roll: Admits workers.
        size: The number of parameters of a model.
        join_secs: The longest time without any worker.
    """

    def __init__(self, engine: Engine, roll: Roll, size: int, join_secs: float) -> None:
        self._engine, self._roll, self._join_secs = engine, roll, join_secs
        self.ahead = max(4, min(1024, HELD_BYTES // (4 * size)))
        self._slots = [Slot(since=time.monotonic()) for _ in range(engine.slots)]
        self._waiting: deque[Job] = deque()
        self._urgent: deque[Job] = deque()
        #: Jobs that may have been the end of several workers, and the one of them that is being done while all others wait.
        self._suspects: deque[Job] = deque()
        self._alone: Job | None = None
        #: Trainings whose result nobody has taken, by ticket: the oldest is the first.
        self._outstanding: dict[int, Job] = {}
        self._models = self._tickets = 0
        #: Whether a worker has got an order.
        self._has_begun = False

    @property
    def outstanding(self) -> int:
        """The number of trainings whose results nobody has taken."""
        return len(self._outstanding)

    def join_all(self) -> None:
        """Waits until all workers have joined; after ``join_secs`` those that are there begin."""
        until = time.monotonic() + self._join_secs
        tell_at = min(time.monotonic() + _TELL_SECS, until)
        while (there := sum(slot.ready for slot in self._slots)) < len(self._slots):
            if tell_at < min(time.monotonic(), until):
                tell_at = until
                _log.warning(
                    "%d of %d workers have joined; waiting up to %g seconds for the others: the cluster may have no room "
                    "for them",
                    there,
                    len(self._slots),
                    self._join_secs,
                )
            if time.monotonic() > until and there:
                _log.warning(
                    "%d of %d workers have joined; the others may still come", there, len(self._slots)
                )
                return
            self.pump()

    def begin(self, kind: str, model: Array, arguments: Sequence[Any]) -> list[Job]:
        """Begins one job for each argument. Other jobs than trainings go before trainings that have not begun."""
        self._models += 1
        # The caller may change its array; one that cannot change needs no copy.
        lent = Model(self._models, np.array(model) if model.flags.writeable else model, len(arguments))
        jobs = [Job(self._tickets + place, kind, argument, lent) for place, argument in enumerate(arguments)]
        self._tickets += len(jobs)
        if kind == "train":
            self._outstanding.update((job.ticket, job) for job in jobs)
        (self._waiting if kind == "train" else self._urgent).extend(jobs)
        self._dispatch()
        return jobs

    def answers(self, jobs: list[Job]) -> list[Any]:
        """Waits until these jobs are done. The error of the first one that failed is raised."""
        while not all(job.done for job in jobs):
            self.pump()
        for job in jobs:
            if job.error is not None:
                raise job.error
        return [job.answer for job in jobs]

    def withdraw(self, jobs: Sequence[Job]) -> list[Job]:
        """Forgets those of the jobs that no worker has begun, and returns the others."""
        for queue in (self._urgent, self._waiting, self._suspects):
            for job in [job for job in queue if job in jobs]:
                queue.remove(job)
                self._release(job)
        begun = [job for slot in self._slots for job in slot.orders.values()]
        return [job for job in jobs if job.done or job in begun]

    def next(self) -> tuple[Job, Array | None]:
        """Waits until one more training is over: the job and its update, or its error in the job."""
        while True:
            oldest = next(iter(self._outstanding))
            # Tickets count upwards, so this looks at a few jobs only.
            near = range(oldest, oldest + self.ahead)
            job = next(
                (job for ticket in near if (job := self._outstanding.get(ticket)) is not None and job.done),
                None,
            )
            if job is None:
                self.pump()
                continue
            try:
                update = None if job.error is not None else self._engine.fetch(job.ticket)
            except LostError as error:
                _log.warning(
                    "the update of device %s is lost (%s); its training is repeated", job.device, error
                )
                job.lost += 1
                self._repeat(job, str(error))
                self._dispatch()
                continue
            del self._outstanding[job.ticket]
            self._release(job)
            self._dispatch()
            return job, update

    def pump(self) -> None:
        """Waits for something to happen, and deals with it."""
        self._ask()
        for event in self._events():
            if isinstance(event, Joined):
                self._join(event)
            elif isinstance(event, Answered):
                self._answer(event)
            else:
                self._lose(event)
        self._dispatch()
        self._ask()
        if not any(slot.ready for slot in self._slots):
            self._check_that_some_come()

    def _events(self) -> list[Event]:
        """The next events. Where no worker is busy or about to join, there are none for a while."""
        now = time.monotonic()
        secs = min([_WAIT_SECS, *(slot.ask_at - now for slot in self._slots if slot.ask_at is not None)])
        if any(slot.orders or (slot.ask_at is None and not slot.ready) for slot in self._slots):
            return self._engine.wait(max(0.0, secs))
        time.sleep(max(0.0, secs))
        return []

    def _ask(self) -> None:
        """Asks workers to join."""
        now = time.monotonic()
        for place, slot in enumerate(self._slots):
            if slot.ask_at is not None and slot.ask_at <= now:
                slot.ask_at = None
                self._engine.join(place)

    def _check_that_some_come(self) -> None:
        """Ends the run if no worker joins: at once if none can start, and after a while if none comes."""
        whys = [slot.why for slot in self._slots if slot.why]
        if not self._roll.workers and all(slot.failures >= FAILURES_MAX for slot in self._slots):
            raise FedflipError(
                f"no worker of {len(self._slots)} can start; each failed {FAILURES_MAX} times, at last with: {whys[-1]}",
                remedy="fedflip and everything that the learner imports must be installed where the workers run; the logs "
                "of the workers may say more",
            )
        away_secs = time.monotonic() - max(slot.since for slot in self._slots)
        if away_secs > self._join_secs:
            why = f"; the last one was lost with: {whys[-1]}" if whys else ""
            raise FedflipError(
                f"none of {len(self._slots)} workers has joined within {self._join_secs:g} seconds{why}",
                remedy="see whether the cluster has the resources that each worker asks for; then resume the run",
            )

    def _join(self, event: Joined) -> None:
        try:
            if isinstance(event.report, FedflipError):
                raise event.report
            self._roll.admit(event.report)
        except FedflipError as error:
            others = (slot for place, slot in enumerate(self._slots) if place != event.slot)
            if not self._has_begun or not any(slot.ready for slot in others):
                raise
            self._refuse(event.slot, str(error))
            return
        slot = self._slots[event.slot]
        slot.ready, slot.failures = True, 0

    def _refuse(self, place: int, why: str) -> None:
        """Leaves a worker out that came in the middle of a run and is not like the others, which continue."""
        slot = self._slots[place]
        _log.warning("a worker is refused, and the others continue: %s", why)
        jobs, slot.orders = list(slot.orders.values()), {}
        if self._alone in jobs:
            self._alone = None
        if slot.ready:
            slot.ready, slot.since = False, time.monotonic()
        self._ask_later(slot, why)
        for job in reversed(jobs):
            self._repeat(job, why)

    def _answer(self, event: Answered) -> None:
        job = self._slots[event.slot].orders.pop(event.ticket, None)
        if job is None:
            return
        if job is self._alone:
            self._alone = None
        job.done, job.answer = True, event.answer
        if not event.fine:
            job.answer, job.error = None, event.answer
        if job.kind != "train":
            self._release(job)

    def _lose(self, event: Gone) -> None:
        slot = self._slots[event.slot]
        jobs, slot.orders = list(slot.orders.values()), {}
        slot.why, now = event.why, time.monotonic()
        # A worker that is not back yet may be lost again.
        if slot.ready:
            slot.ready, slot.since, slot.ask_at = False, now, now
            _log.warning("a worker is lost (%s); orders to repeat: %d", event.why, len(jobs))
        else:
            self._ask_later(slot, event.why)
            _log.info("a worker could not join (%s)", event.why)
        for place, job in enumerate(jobs):
            if event.together and job is not self._alone:
                job.lost = min(job.lost + 1, max(job.lost, _TOGETHER_MAX))
            else:
                # Only the first one was being done.
                job.lost += place == 0
        if self._alone in jobs:
            self._alone = None
        for job in reversed(jobs):
            self._repeat(job, event.why, suspect=event.together and job.lost >= _TOGETHER_MAX)

    def _ask_later(self, slot: Slot, why: str) -> None:
        slot.failures += 1
        slot.why = why
        first_secs, most_secs = _ASK_AGAIN_SECS
        slot.ask_at = time.monotonic() + min(first_secs * 2 ** min(slot.failures, 30), most_secs)

    def _repeat(self, job: Job, why: str, suspect: bool = False) -> None:
        job.done = False
        if job.lost < LOSSES_MAX:
            queue = self._waiting if job.kind == "train" else self._urgent
            (self._suspects if suspect else queue).appendleft(job)
            return
        if job.kind != "train":
            self._release(job)
        key = job.argument if job.kind == "train" else None
        what = f"training on device {key.device} in round {key.round}" if key is not None else job.kind
        job.done, job.error = (
            True,
            LearnerError(
                f"{what} was lost with {job.lost} workers in a row: {why}",
                device=job.device,
                round=None if key is None else key.round,
                remedy="the logs of the workers say why; give each worker more memory if it ran out of it",
            ),
        )

    def _dispatch(self) -> None:
        """Gives waiting jobs to the workers with the fewest orders. A suspect is done while no other worker has one."""
        if self._alone is not None:
            return
        if self._suspects:
            ready = [place for place, slot in enumerate(self._slots) if slot.ready]
            if ready and not any(slot.orders for slot in self._slots):
                self._alone = self._suspects.popleft()
                self._send(ready[0], self._alone)
            return
        oldest = next(iter(self._outstanding), 0)
        # Updates that wait in the cluster are bounded too.
        last = oldest + self.ahead + PREFETCH * len(self._slots)
        for held in range(PREFETCH):
            for place, slot in enumerate(self._slots):
                if not slot.ready or len(slot.orders) != held:
                    continue
                queue = self._urgent or self._waiting
                if not queue or (queue[0].kind == "train" and queue[0].ticket >= last):
                    return
                if held and queue[0].kind == "run":
                    # It would wait for hours behind another one while other workers become free.
                    return
                self._send(place, queue.popleft())

    def _send(self, place: int, job: Job) -> None:
        self._has_begun = True
        self._slots[place].orders[job.ticket] = job
        self._engine.send(place, self._order(job))

    def _order(self, job: Job) -> Order:
        model = job.model
        if model.array is not None:
            model.published, model.array = self._engine.publish(model.array), None
        argument = tuple(job.argument) if job.kind == "train" else job.argument
        return Order(job.ticket, job.kind, model.number, model.published, argument)

    @staticmethod
    def _release(job: Job) -> None:
        job.model.users -= 1
        if job.model.users == 0:
            # The cluster forgets the model with the last reference to it.
            job.model.published = None
