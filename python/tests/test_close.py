"""The end of a run: learners are told once, their failures harm nothing, and no thread is left."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import fedflip as ff
import pytest
from fedflip._crew import InlineCrew
from fedflip._learner import FlatLearner
from fedflip._process_crew import ProcessCrew
from learners import Broken, Quadratic


class ClosesBadly(Quadratic):
    """A learner that fails when it is closed."""

    def close(self) -> None:
        raise OSError("the disk is gone")


class BreaksAndClosesBadly(Broken):
    """A learner that fails in training, and when it is closed."""

    close = ClosesBadly.close


class CrewClosesBadly(InlineCrew):
    """A crew that fails when it is closed."""

    def close(self) -> None:
        raise OSError("the cluster is gone")


def run(work: Any, **arguments: Any) -> ff.Run:
    return ff.simulate(work, plan="full", rounds_max=3, progress=False, **arguments)


def warned(caplog: pytest.LogCaptureFixture) -> str:
    """The one warning of fedflip, with its traceback."""
    [record] = [record for record in caplog.records if record.name == "fedflip"]
    assert record.levelno == logging.WARNING and record.exc_info is not None
    return f"{record.getMessage()} {logging.Formatter().formatException(record.exc_info)}"


class TestFailures:
    def test_a_finished_run_is_not_lost(self, caplog: pytest.LogCaptureFixture) -> None:
        assert len(run(ClosesBadly())) == len(run(Quadratic()))
        assert "failed to close" in warned(caplog) and "OSError: the disk is gone" in warned(caplog)

    def test_nor_by_a_crew_that_fails_to_close(self, caplog: pytest.LogCaptureFixture) -> None:
        assert len(run(Quadratic(), crew=CrewClosesBadly())) == len(run(Quadratic()))
        assert "crew" in warned(caplog) and "OSError: the cluster is gone" in warned(caplog)

    def test_the_error_of_the_run_is_not_hidden(self, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(ff.LearnerError, match="out of cheese") as raised:
            run(BreaksAndClosesBadly("raise", round=2))
        assert raised.value.round == 2 and "the disk is gone" in warned(caplog)

    def test_the_error_of_an_argument_is_not_hidden(self, caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(ff.InputError) as raised:
            run(ClosesBadly(), train={"batsh": 3})
        assert "batsh" in raised.value.where and "the disk is gone" in warned(caplog)

    def test_a_crew_that_is_closed_has_forgotten_its_learner(self, caplog: pytest.LogCaptureFixture) -> None:
        crew = InlineCrew()
        crew.open(FlatLearner(ClosesBadly()))
        crew.close()
        crew.close()
        assert "the disk is gone" in warned(caplog)
        with pytest.raises(ff.FedflipError, match="not open"):
            crew.losses(Quadratic().initial(1), [0])


class Counts(Quadratic):
    """Counts how often it is closed in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class ClosesSlowly(Counts):
    """A learner whose end takes forever."""

    def close(self) -> None:
        super().close()
        while True:
            time.sleep(0.01)


def helpers() -> set[threading.Thread]:
    """The helper threads that watch the time of learners."""
    return {thread for thread in threading.enumerate() if thread.name == "fedflip-learner"}


def helpers_end(before: set[threading.Thread]) -> bool:
    """Whether helper threads that were not there before end soon."""
    until = time.monotonic() + 10
    while helpers() - before and time.monotonic() < until:
        time.sleep(0.01)
    return helpers() <= before


class TestThreads:
    @pytest.mark.parametrize("workers", [None, "process"])
    def test_a_run_with_a_time_limit_leaves_no_thread_and_closes_once(self, workers: str | None) -> None:
        before, learner = helpers(), Counts()
        run(learner, workers=workers, threads=1, timeout_secs=60.0)
        assert helpers_end(before) and learner.closed == 1

    def test_worker_processes_do_not_keep_the_caller_from_closing(self) -> None:
        learner = Counts()
        run(learner, workers="process", threads=1)
        assert learner.closed == 1

    def test_a_run_that_is_refused_leaves_no_thread(self) -> None:
        before, learner = helpers(), Counts()
        plan = ff.plan(ff.Fleet.paper(learner.devices, seed=1), bandwidth_mbps=20)
        with pytest.raises(ff.InputError, match="samples"):
            ff.simulate(learner, plan=plan, rounds_max=1, timeout_secs=60.0, progress=False)
        assert helpers_end(before)

    def test_a_crew_of_processes_starts_no_thread_for_its_copy(self) -> None:
        before = helpers()
        flat = FlatLearner(Quadratic(), timeout_secs=60.0)
        with ProcessCrew(1) as crew:
            crew.open(flat)
        assert helpers_end(before)

    def test_a_learner_that_hangs_at_its_end_is_left(self, caplog: pytest.LogCaptureFixture) -> None:
        before, learner = helpers(), ClosesSlowly()
        assert len(run(learner, timeout_secs=0.5)) > 0
        assert "close took longer than 0.5 seconds" in warned(caplog)
        assert helpers_end(before) and learner.closed == 1

    def test_a_learner_is_told_again_after_further_calls(self) -> None:
        learner = Counts()
        flat = FlatLearner(learner)
        for times in (1, 2):
            flat.train(learner.initial(1), ff.TrainKey(1, 1, 0))
            flat.close()
            flat.close()
            assert learner.closed == times
