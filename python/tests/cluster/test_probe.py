"""Who is admitted to a crew, and what is held in memory: the dispatcher without a cluster."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from fedflip._cluster_dispatch import Dispatcher
from fedflip._cluster_engine import Answered, Event, Gone, Joined, LostError, Order
from fedflip._cluster_probe import Report, Roll

ONE = Report("a:1", "00", "0.1.0", "x86_64 avx2 fma", "11")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (ONE._replace(version="0.2.0"), "its fedflip is 0.2.0, not 0.1.0"),
        (ONE._replace(processor="x86_64 avx2"), "its processor lacks fma"),
        (ONE._replace(processor="aarch64 asimd"), "lacks avx2 fma x86_64 and has aarch64 asimd in addition"),
        (ONE._replace(data="22"), "its data have the digest 22, not 11"),
        (ONE._replace(update="33"), "its update of the probe has the digest 33, not 00"),
    ],
)
def test_workers_that_differ_are_refused_or_remembered(other: Report, words: str) -> None:
    other = other._replace(name="b:2")
    strict, mixed = Roll(mixed=False), Roll(mixed=True)
    for roll in (strict, mixed):
        roll.admit(ONE)
    with pytest.raises(ff.FedflipError, match="worker b:2 differs from a:1") as caught:
        strict.admit(other)
    assert words in caught.value.problem
    mixed.admit(other)
    mixed.admit(other)
    [(name, sentence)] = mixed.different.items()
    assert name == "b:2" and words in sentence and mixed.workers == {"a:1", "b:2"}


def test_workers_are_compared_with_a_driver_that_trains_nothing() -> None:
    roll = Roll(mixed=False)
    roll.compare_with(ONE._replace(name="head:7"))
    assert not roll.workers
    with pytest.raises(ff.FedflipError, match="differs from head:7, the driver"):
        roll.admit(ONE._replace(data="22"))


def test_a_probe_that_fails_everywhere_is_no_difference() -> None:
    """The message of the failure may have an address or a process in it."""
    failed = [ONE._replace(name=name, update="", failure=f"bad object at {name}") for name in ("a:1", "b:2")]
    roll = Roll(mixed=False)
    for report in failed:
        roll.admit(report)
    with pytest.raises(ff.FedflipError, match="it trained the probe, which failed there: bad object at a:1"):
        roll.admit(ONE._replace(name="c:3"))
    roll = Roll(mixed=False)
    roll.admit(ONE)
    with pytest.raises(ff.FedflipError, match="its training of the probe failed: bad object at b:2"):
        roll.admit(failed[1])


class Desk:
    """An engine whose workers do what a test says."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.events: deque[Event] = deque()
        self.orders: list[tuple[int, Order]] = []
        self.fetched: list[int] = []
        self.published = 0
        self.lost: set[int] = set()
        self.joins: list[int] = []

    def start(self, parcel: bytes) -> None: ...

    def join(self, slot: int) -> None:
        self.joins.append(slot)
        self.events.append(Joined(slot, ONE._replace(name=f"a:{slot}")))

    def publish(self, model: Any) -> Any:
        self.published += 1
        return model

    def send(self, slot: int, order: Order) -> None:
        self.orders.append((slot, order))

    def answer(self, slot: int, order: Order) -> None:
        self.events.append(Answered(slot, order.ticket, True, 0.5))

    def wait(self, secs: float) -> list[Event]:
        assert self.events, "the dispatcher waits for nothing"
        return [self.events.popleft()]

    def fetch(self, ticket: int) -> Any:
        if ticket in self.lost:
            self.lost.remove(ticket)
            raise LostError("the machine is gone")
        self.fetched.append(ticket)
        return np.zeros(4, np.float32)

    def close(self) -> None: ...


def dispatcher(slots: int, size: int = 4) -> tuple[Desk, Dispatcher]:
    desk = Desk(slots)
    made = Dispatcher(desk, Roll(mixed=False), size, join_secs=1.0)
    made.join_all()
    return desk, made


def keys(count: int) -> list[ff.TrainKey]:
    return [ff.TrainKey(1, 1, device) for device in range(count)]


def test_a_model_is_published_once_and_workers_have_two_orders() -> None:
    desk, made = dispatcher(2)
    made.begin("train", np.zeros(4, np.float32), keys(6))
    assert desk.published == 1
    assert [(slot, order.ticket) for slot, order in desk.orders] == [(0, 0), (1, 1), (0, 2), (1, 3)]


def test_updates_far_ahead_stay_where_they_are() -> None:
    desk, made = dispatcher(3, size=200_000_000)
    assert made.ahead == 4
    made.begin("train", np.zeros(4, np.float32), keys(30))
    stuck = desk.orders[0]
    # The first worker hangs; the others go on only as far as memory allows.
    for slot, order in desk.orders:
        if order is not stuck[1] and slot != 0:
            desk.answer(slot, order)
    for _ in range(2):
        job, _ = made.next()
        assert job.ticket < made.ahead
        for slot, order in desk.orders[6:]:
            if slot != 0:
                desk.answer(slot, order)
    # The second order of the first worker is stuck too.
    started = {order.ticket for _, order in desk.orders}
    assert max(started) < 0 + made.ahead + 2 * 3
    assert all(ticket < made.ahead for ticket in desk.fetched)


def test_lost_orders_are_repeated_first_and_lost_updates_again() -> None:
    desk, made = dispatcher(2)
    made.begin("train", np.zeros(4, np.float32), keys(6))
    before = len(desk.orders)
    desk.events.append(Gone(0, "it was killed"))
    desk.answer(*desk.orders[1])
    desk.lost.add(1)
    done = []
    while made.outstanding:
        for slot, order in desk.orders[before:]:
            desk.answer(slot, order)
        before = len(desk.orders)
        desk.events.extend(Answered(1, order.ticket, True, 0.5) for slot, order in desk.orders[1:4:2])
        done.append(made.next()[0].argument.device)
    assert sorted(done) == list(range(6))
    repeated = [order.ticket for _, order in desk.orders]
    assert repeated.count(0) == 2 and repeated.count(2) == 2 and repeated.count(1) == 2


def test_a_training_that_kills_workers_is_given_up_by_name() -> None:
    desk, made = dispatcher(1)
    made.begin("train", np.zeros(4, np.float32), keys(1))
    desk.events.extend(Gone(0, "it was killed by SIGKILL") for _ in range(1))
    for _ in range(5):
        desk.events.append(Joined(0, ONE._replace(name="a:0")))
        desk.events.append(Gone(0, "it was killed by SIGKILL"))
    job, update = made.next()
    assert update is None and job.error is not None
    assert "5 workers in a row" in str(job.error) and job.error.device == 0  # type: ignore[attr-defined]
    assert made.outstanding == 0


class Broken(Desk):
    """An engine where some workers cannot start."""

    def __init__(self, slots: int, broken: set[int]) -> None:
        super().__init__(slots)
        self.broken = broken

    def join(self, slot: int) -> None:
        if slot not in self.broken:
            super().join(slot)
            return
        self.joins.append(slot)
        self.events.append(Gone(slot, "ModuleNotFoundError: No module named 'fedflip'"))


def test_workers_that_cannot_start_end_the_run_with_the_reason() -> None:
    desk = Broken(2, {0, 1})
    begun = time.monotonic()
    with pytest.raises(ff.FedflipError, match="no worker of 2 can start.*No module named 'fedflip'"):
        Dispatcher(desk, Roll(mixed=False), 4, join_secs=300.0).join_all()
    assert sorted(desk.joins) == [0, 0, 0, 1, 1, 1]
    assert time.monotonic() - begun < 30


def test_a_worker_that_cannot_start_is_asked_again_after_a_pause() -> None:
    desk = Broken(2, {1})
    made = Dispatcher(desk, Roll(mixed=False), 4, join_secs=1.5)
    # After the time for joining, the one that is there begins.
    made.join_all()
    assert desk.joins.count(0) == 1 and 2 <= desk.joins.count(1) <= 5
    made.begin("train", np.zeros(4, np.float32), keys(1))
    desk.answer(*desk.orders[0])
    assert made.next()[0].argument.device == 0


def test_a_cluster_that_went_away_is_described_with_the_last_loss() -> None:
    desk, made = dispatcher(1)
    made.begin("train", np.zeros(4, np.float32), keys(1))
    desk.events.append(Gone(0, "the node was preempted"))
    desk.join = lambda slot: desk.events.append(Gone(slot, "no room"))  # type: ignore[method-assign]
    with pytest.raises(ff.FedflipError, match="none of 1 workers has joined within 1 seconds.*no room"):
        made.next()


OTHER = ONE._replace(name="b:9", data="22")


def test_a_worker_that_differs_is_refused_in_the_middle_of_a_run_and_the_others_continue() -> None:
    desk, made = dispatcher(2)
    made.begin("train", np.zeros(4, np.float32), keys(4))
    desk.events.append(Gone(1, "the node was preempted"))
    desk.join = lambda slot: desk.events.append(Joined(slot, OTHER))  # type: ignore[method-assign]
    # What the worker that differs has done already does not count.
    desk.events.append(Joined(1, OTHER))
    desk.events.append(Answered(1, 1, True, 9.0))
    desk.events.extend(Answered(0, ticket, True, 0.5) for ticket in (0, 2, 1, 3))
    done = [made.next()[0] for _ in range(4)]
    assert {job.argument.device: job.answer for job in done} == dict.fromkeys(range(4), 0.5)
    assert {slot for slot, _ in desk.orders[4:]} == {0}


def test_a_worker_that_differs_ends_a_run_that_has_no_other() -> None:
    desk, made = dispatcher(1)
    made.begin("train", np.zeros(4, np.float32), keys(1))
    desk.events.extend([Gone(0, "the node was preempted"), Joined(0, OTHER)])
    with pytest.raises(ff.FedflipError, match="its data have the digest 22, not 11"):
        made.next()
