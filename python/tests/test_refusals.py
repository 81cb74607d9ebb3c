"""What a run refuses before it begins, with a remedy: stumbles of people who tried it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest


class Mean:
    """Devices that pull the model to their own number."""

    devices = 3
    metrics = {"worst": "max"}

    def samples(self, device: int) -> int:
        return 10

    def initial(self, seed: int) -> Any:
        return np.zeros(2, np.float32)

    def train(self, model: Any, key: ff.TrainKey) -> tuple[Any, float]:
        return np.float32(0.1) * (key.device - model), 1.0

    def evaluate(self, model: Any) -> dict[str, float]:
        return {"worst": float(model[0])}


class OtherNames(Mean):
    def evaluate(self, model: Any) -> dict[str, float]:
        return {"worst": 0.0, "mean": 0.0}


class BadProperty(Mean):
    @property
    def metrics(self) -> dict[str, str]:  # type: ignore[override]
        raise KeyError("no file")


FLEET = ff.Fleet({"compute_secs": [1.0, 2.0, 3.0], "comm_secs": [5.0] * 3, "samples": [10] * 3})
STOP = ff.Stop("worst", at=0.5)


def run(learner: Any = None, **more: Any) -> ff.Run:
    return ff.simulate(learner or Mean(), **{"rounds_max": 2, "seed": 1, "progress": False, **more})


@pytest.mark.parametrize(
    ("ask", "where", "remedy"),
    [
        (lambda: run(resume=True), "resume", "add out=FOLDER"),
        (lambda: run(plan="full", scheme="weighted"), "scheme", "leave out one"),
        (lambda: run(crew=ff.ExecutorCrew), "crew", "make an instance: ExecutorCrew(…)"),
        (lambda: run(workers="processes"), "workers", "workers='process'"),
        (
            lambda: run(plan=ff.Plan.from_q(FLEET, [0, 0.5, 0.5], bandwidth_mbps=10)),
            "plan",
            "plan for a fleet without it",
        ),
        (
            lambda: ff.compare(Mean(), stop=STOP, seeds=1, rounds_max=2, progress=False),
            "",
            "a metric called loss",
        ),
        (lambda: ff.pilot(Mean(), stop=STOP, progress=False), "stop", "pilot="),
        (
            lambda: ff.compare(
                Mean(),
                schemes=[ff.plan(FLEET, bandwidth_mbps=10, variance=each) for each in (0.3, 0.8)],
                stop=STOP,
                progress=False,
            ),
            "schemes",
            "ff.Plan.from_q",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_remedy(
    ask: Callable[[], Any], where: str, remedy: str
) -> None:
    with pytest.raises(ff.InputError) as refused:
        ask()
    assert refused.value.where == where and remedy in refused.value.remedy, refused.value


def test_a_plan_without_a_device_names_it() -> None:
    with pytest.raises(ff.InputError, match="device-0 never takes part"):
        run(plan=ff.Plan.from_q(FLEET, [0, 0.5, 0.5], bandwidth_mbps=10))


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (OtherNames(), "evaluate returned worst, mean, but metrics of the learner has worst"),
        (BadProperty(), "no file"),
    ],
)
def test_metrics_that_cannot_be_used_are_errors_of_the_learner(learner: Any, said: str) -> None:
    with pytest.raises(ff.LearnerError, match=said):
        run(learner)
    assert not ff.check_learner(learner, processes=False).ok


def test_a_run_that_is_over_keeps_its_caps(tmp_path: Path) -> None:
    run(out=tmp_path / "run", rounds_max=5)
    before = (tmp_path / "run" / "run.toml").read_bytes()
    assert len(run(out=tmp_path / "run", rounds_max=3, resume=True)) == 5
    assert (tmp_path / "run" / "run.toml").read_bytes() == before


def test_a_file_that_is_not_there_is_refused_before_a_device_connects(tmp_path: Path) -> None:
    with pytest.raises(ff.InputError, match="no file has this name") as refused:
        ff.join("127.0.0.1:1", insecure=True, name="a", data=tmp_path / "nope.npz")
    assert refused.value.where == "data"
