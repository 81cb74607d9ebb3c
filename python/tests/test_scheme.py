"""Sampling schemes of one's own: exceptions while they are planned, and memory."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import fedflip as ff
import pytest
from learners import Quadratic
from test_simulate import own_scheme

COMPARED: dict[str, Any] = {"seeds": 1, "stop": ff.Stop("loss", at=6.5), "rounds_max": 30, "progress": False}


class Raising:
    """Raises when its first cohort is drawn, which is while the scheme is planned."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        raise self.error


class Counting(Quadratic):
    """Counts the trainings."""

    trained = 0

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        self.trained += 1
        return super().train(model, key)


@pytest.mark.parametrize("error", [RuntimeError("no cohort"), KeyboardInterrupt()])
def test_an_exception_while_a_scheme_is_planned_ends_a_comparison_at_once(error: BaseException) -> None:
    learner = Counting()
    raising = ff.Scheme(Raising(error), name="raising")
    with pytest.raises(type(error)) as raised:
        ff.compare(learner, schemes=[raising, "full"], reference=raising, **COMPARED)
    assert raised.value is error and learner.trained == 0


def test_an_exception_while_a_scheme_is_planned_ends_a_sweep_at_once() -> None:
    error = RuntimeError("no cohort")
    learner = Counting()
    raising = ff.Scheme(Raising(error), name="raising")
    with pytest.raises(RuntimeError) as raised:
        ff.sweep(
            learner,
            over={"payload_mbit": [1.0, 3.0]},
            schemes=[raising, "full"],
            reference=raising,
            **COMPARED,
        )
    assert raised.value is error and learner.trained == 0
    assert "payload_mbit=1" in " ".join(error.__notes__)


def test_threads_that_share_a_scheme_do_not_share_exceptions() -> None:
    other_draws, other_is_done = threading.Event(), threading.Event()
    main = threading.current_thread()

    def draw(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        if threading.current_thread() is main:
            return [0], [1.0]
        other_draws.set()
        raise RuntimeError("of the other thread")

    scheme = ff.Scheme(draw, name="shared", q=[0.5] * 6)
    caught: list[BaseException] = []

    def other() -> None:
        try:
            ff.simulate(Quadratic(), plan=scheme, rounds_max=2, progress=False)
        except RuntimeError as error:
            caught.append(error)
        other_is_done.set()

    def in_between(record: ff.RoundRecord) -> None:
        if record.round == 1:
            thread = threading.Thread(target=other)
            thread.start()
            # The exception is raised, and perhaps not yet taken, when this run continues.
            assert other_draws.wait(60)

    done = ff.simulate(Quadratic(), plan=scheme, rounds_max=3, progress=False, callbacks=[in_between])
    assert other_is_done.wait(60)
    assert len(done) == 3 and [str(error) for error in caught] == ["of the other thread"]


def test_a_scheme_may_simulate_and_still_raises_its_own_exception() -> None:
    def draw(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        ff.simulate(Quadratic(), plan=own_scheme, rounds_max=1, progress=False)
        raise RuntimeError("after the inner run")

    with pytest.raises(RuntimeError, match="after the inner run"):
        ff.simulate(Quadratic(), plan=ff.Scheme(draw, name="outer"), rounds_max=1, progress=False)


def test_a_scheme_is_freed_with_its_callable_and_the_fleet_of_its_last_run() -> None:
    class Drawing:
        def __call__(self, round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
            return own_scheme(round, seed, fleet)

    def fleets() -> int:
        gc.collect()
        return sum(isinstance(each, ff.Fleet) for each in gc.get_objects())

    draw = Drawing()
    scheme = ff.Scheme(draw, name="drawing")
    before = fleets()
    ff.simulate(Quadratic(), plan=scheme, rounds_max=2, progress=False)
    assert fleets() == before
    gone = [weakref.ref(scheme), weakref.ref(draw)]
    del scheme, draw
    gc.collect()
    assert [each() for each in gone] == [None, None]
