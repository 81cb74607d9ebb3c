"""Crews of one's own that answer or raise what no crew should: the error names the crew and the method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from fedflip._crew import InlineCrew
from learners import Quadratic

SETTINGS: dict[str, Any] = {"plan": "full", "rounds_max": 2, "seed": 1, "progress": False}


class Clumsy(InlineCrew):
    """Answers with `junk`, or raises it, where it is told to."""

    def __init__(self, method: str, junk: Any) -> None:
        super().__init__()
        self.method, self.junk = method, junk

    def _or_junk(self, method: str, answer: Any) -> Any:
        if method != self.method:
            return answer
        if isinstance(self.junk, BaseException):
            raise self.junk
        return self.junk

    def train(self, model: Any, keys: Sequence[Any]) -> None:
        super().train(model, keys)
        self._or_junk("train", None)

    def next(self) -> Any:
        return self._or_junk("next", super().next())

    def evaluate(self, model: Any) -> Any:
        return self._or_junk("evaluate", super().evaluate(model))


JUNK = [
    None,
    3,
    (0, None, 1.0),
    (0, np.zeros(5), 1.0),
    (0, np.zeros(10, np.float32)[::2], 1.0),
    ("a", "b", "c"),
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: str(junk)[:20])
def test_an_answer_that_is_no_training_is_named(junk: Any) -> None:
    with pytest.raises(ff.FedflipError, match=r"next\(\) of the crew Clumsy returned an object") as caught:
        ff.simulate(Quadratic(3), crew=Clumsy("next", junk), **SETTINGS)
    assert "flat float32 array" in caught.value.remedy


def test_a_training_that_nobody_asked_for_is_named() -> None:
    update = np.zeros(5, np.float32)
    with pytest.raises(ff.FedflipError, match="the crew trained device 7 unasked"):
        ff.simulate(Quadratic(3), crew=Clumsy("next", (7, update, 1.0)), **SETTINGS)
    with pytest.raises(ff.FedflipError, match="4 parameters|4 numbers|has 4|5"):
        ff.simulate(Quadratic(3), crew=Clumsy("next", (0, update[:4].copy(), 1.0)), **SETTINGS)


def test_an_evaluation_that_is_no_dict_is_named() -> None:
    with pytest.raises(
        ff.FedflipError, match=r"evaluate\(\) of the crew Clumsy returned an object of the class list"
    ):
        ff.simulate(Quadratic(3), crew=Clumsy("evaluate", [1.0]), **SETTINGS)


@pytest.mark.parametrize("method", ["train", "next", "evaluate"])
def test_what_a_crew_raises_is_the_cause_of_an_error_that_names_the_method(method: str) -> None:
    with pytest.raises(
        ff.FedflipError, match=rf"{method}\(\) of the crew Clumsy failed: KeyError: 'gone'"
    ) as caught:
        ff.simulate(Quadratic(3), crew=Clumsy(method, KeyError("gone")), **SETTINGS)
    assert isinstance(caught.value.__cause__, KeyError)


def test_ctrl_c_in_a_crew_stays_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        ff.simulate(Quadratic(3), crew=Clumsy("next", KeyboardInterrupt()), **SETTINGS)


def test_nobody_trains_the_rest_of_a_cohort_after_a_failure() -> None:
    trained: list[int] = []

    class Fails(Quadratic):
        def train(self, model: Any, key: Any) -> tuple[Any, float]:
            trained.append(key.device)
            if key.device == 1:
                raise RuntimeError("out of cheese")
            return super().train(model, key)

    with pytest.raises(ff.LearnerError, match="out of cheese"):
        ff.simulate(Fails(6), **SETTINGS)
    assert trained == [0, 1]
