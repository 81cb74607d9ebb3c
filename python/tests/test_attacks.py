"""What an attack on the package found: each of these was once a panic, a lost file or a raw exception."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from learners import Quadratic

QUICK: dict[str, Any] = {"plan": "full", "rounds_max": 4, "seed": 1, "progress": False}


def misaligned(values: Any, dtype: Any) -> Any:
    """An array that begins at an odd address."""
    numbers = np.asarray(values, dtype)
    array = np.zeros(numbers.nbytes + 1, np.uint8)[1:].view(dtype)
    array[:] = numbers
    assert not array.flags.aligned
    return array


def test_arrays_that_are_not_aligned_are_copied() -> None:
    record = [("id", "i4"), ("compute_secs", "f8"), ("comm_secs", "f8"), ("samples", "f8")]
    fleet = ff.Fleet(np.array([(1, 4.0, 8.0, 300.0), (2, 5.0, 9.0, 100.0)], dtype=record))
    assert fleet.samples.tolist() == [300.0, 100.0]
    assert ff.Plan.from_q(fleet, misaligned([0.5, 0.25], np.float64)).q.tolist() == [0.5, 0.25]

    class Odd(Quadratic):
        def initial(self, seed: int) -> Any:
            return misaligned(super().initial(seed), np.float32)

        def train(self, model: Any, key: ff.TrainKey) -> Any:
            update, loss = super().train(model, key)
            return misaligned(update, np.float32), loss

    ours, plain = (ff.simulate(learner, **QUICK).model for learner in (Odd(), Quadratic()))
    assert all(np.array_equal(ours[name], plain[name]) for name in plain)


def test_a_run_stays_in_its_folder_if_the_present_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(there)
    ff.simulate(Quadratic(), out="run", **{**QUICK, "seed": 5})
    before = {path.name: path.read_bytes() for path in (there / "run").iterdir() if path.is_file()}
    monkeypatch.chdir(here)
    run = ff.simulate(Quadratic(), out="run", callbacks=[lambda record: os.chdir(there)], **QUICK)
    assert run.seed == 1 and len(ff.open(here / "run")) == 4
    assert before == {path.name: path.read_bytes() for path in (there / "run").iterdir() if path.is_file()}


def test_an_empty_path_is_not_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in [
        lambda: ff.simulate(Quadratic(), out="", **QUICK),
        lambda: ff.open(""),
        lambda: ff.certs.create("", hosts=["localhost"]),
    ]:
        with pytest.raises(ff.InputError, match="not a path"):
            call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a\n", "", "x" * 65, "\ud800", 5])
def test_names_of_metrics_fit_into_records(name: Any) -> None:
    class Odd(Quadratic):
        def evaluate(self, model: Any) -> Any:
            return {name: 1.0}

    with pytest.raises(ff.FedflipError, match="1 to 64 printable characters"):
        ff.simulate(Odd(), **QUICK)
    with pytest.raises(ff.InputError, match="1 to 64 printable characters"):
        declared = Quadratic()
        declared.metrics = {name: "max"}  # type: ignore[misc]
        ff.simulate(declared, **QUICK)


@pytest.mark.parametrize("member", ["loss", "metric", "devices", "samples"])
def test_numbers_that_are_too_large_are_named(member: str) -> None:
    class Huge(Quadratic):
        def samples(self, device: int) -> int:
            return 2**70 if member == "samples" else super().samples(device)

        def train(self, model: Any, key: ff.TrainKey) -> Any:
            update, loss = super().train(model, key)
            return update, 10**400 if member == "loss" else loss

        def evaluate(self, model: Any) -> Any:
            return {"loss": 10**400} if member == "metric" else super().evaluate(model)

    learner = Huge()
    if member == "devices":
        learner.devices = 2**70
    with pytest.raises(ff.FedflipError, match="loss|devices|samples"):
        ff.simulate(learner, **QUICK)


@pytest.mark.parametrize(
    "answer", [([0], ["x"]), ([0], [1j]), ([[0], [1, 2]], [1, 1]), ([0], [10**400]), ([0], [[1], [1, 2]])]
)
def test_answers_of_a_scheme_are_checked(answer: Any) -> None:
    def draw(round: int, seed: int, fleet: ff.Fleet) -> Any:
        return answer

    with pytest.raises(ff.InputError, match="scheme draw"):
        ff.simulate(Quadratic(), **{**QUICK, "plan": draw})


def test_limits_of_time_and_seeds_are_bounded() -> None:
    assert len(ff.simulate(Quadratic(), timeout_secs=1e300, **QUICK)) == 4
    with pytest.raises(ff.InputError) as raised:
        ff.compare(Quadratic(), schemes=["full"], seeds=2**63, stop=ff.Stop("loss", at=1.0))
    assert raised.value.where == "seeds"
