"""The end of a run: learners are told once, their failures harm nothing, and no thread is left."""

from __future__ import annotations

import logging
from typing import Any

import fedflip as ff
import pytest
from fedflip._crew import InlineCrew
from fedflip._learner import FlatLearner
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
