"""Folders of runs: what cannot be resumed, and files that are not a run's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from learners import Quadratic
from test_simulate import fleet_of

STOP = ff.Stop("loss", at=6.5)


def run(work: Any, out: Path, **arguments: Any) -> ff.Run:
    return ff.simulate(work, out=out, seed=3, rounds_max=8, progress=False, **arguments)


def interrupted(work: Any, out: Path, **arguments: Any) -> Path:
    run(work, out, callbacks=[lambda record: record.round == 4], **arguments)
    return out


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path, words: str, work: Any, **arguments: Any) -> None:
    """Refuses to resume, names the folder, and changes nothing of the run."""
    before = content(folder)
    with pytest.raises(ff.InputError, match=words) as raised:
        run(work, folder, resume=True, **arguments)
    assert raised.value.where == "out" and raised.value.value == str(folder) and raised.value.remedy
    assert str(folder) in str(raised.value) and content(folder) == before


class Turned(Quadratic):
    metrics = {"loss": "max"}


class More(Quadratic):
    metrics = {"loss": "min", "f1": "max"}

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {**super().evaluate(model), "f1": 0.5}


def test_a_run_is_resumed_with_the_metrics_that_it_began_with(tmp_path: Path) -> None:
    folder = interrupted(Quadratic(), tmp_path / "run", plan="full")
    refused(folder, r"records loss \(min\), where this one has loss \(max\)", Turned(), plan="full")
    refused(folder, r"where this one has f1 \(max\), loss \(min\)", More(), plan="full")
    assert len(run(Quadratic(), folder, resume=True, plan="full")) == 8
    # One that has ended is no run of another learner, either.
    refused(folder, "other metrics", More(), plan="full")


def two(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
    return np.arange(2), np.ones(2)


def test_a_run_is_resumed_with_the_scheme_that_it_began_with(tmp_path: Path) -> None:
    folder = interrupted(Quadratic(), tmp_path / "run", plan=two)
    refused(folder, "custom=two.*custom=pair", Quadratic(), plan=ff.Scheme(two, name="pair"))
    promising = ff.Scheme(two, unbiased=True)
    refused(folder, "custom=two did not promise an unbiased sum", Quadratic(), plan=promising)
    refused(
        folder,
        "q of the device .* is 0.333.*, where this one has 0.5",
        Quadratic(),
        plan=ff.Scheme(two, q=[0.5] * 6),
    )
    assert len(run(Quadratic(), folder, resume=True, plan=two)) == 8
    other = interrupted(Quadratic(), tmp_path / "promised", plan=promising)
    refused(other, "promised an unbiased sum, and does not now", Quadratic(), plan=two)


def test_a_run_is_resumed_with_the_plan_that_it_began_with(tmp_path: Path) -> None:
    learner = Quadratic()
    fleet, q = fleet_of(learner), np.linspace(0.2, 1.0, learner.devices)
    plan = ff.Plan.from_q(fleet, q, bandwidth_mbps=5)
    folder = interrupted(learner, tmp_path / "run", plan=plan)
    q[2] = 0.75
    words = "plan.csv, q of the device device-2 is 0.52, where this one has 0.75"
    refused(folder, words, learner, plan=ff.Plan.from_q(fleet, q, bandwidth_mbps=5))
    assert len(run(learner, folder, resume=True, plan=plan)) == 8


def test_reports_keep_the_promise_of_a_scheme(tmp_path: Path) -> None:
    for name, unbiased in [("honest", True), ("other", False)]:
        scheme = ff.Scheme(two, name=name, unbiased=unbiased)
        found = ff.compare(
            Quadratic(), schemes=["full", scheme], seeds=1, stop=STOP, rounds_max=5, progress=False
        )
        text = found.report(tmp_path / f"{name}.txt").read_text()
        assert ("biased by the scheme" in text) is not unbiased


#: Everything that begins in a folder.
BEGINNINGS: dict[str, Callable[[Path, bool], Any]] = {
    "simulate": lambda out, resume: run(Quadratic(), out, resume=resume, plan="full"),
    "compare": lambda out, resume: ff.compare(
        Quadratic(), schemes=["full"], seeds=1, stop=STOP, rounds_max=9, out=out, resume=resume, progress=False
    ),
    "sweep": lambda out, resume: ff.sweep(
        Quadratic(), over={"bandwidth_mbps": [1, 9]}, schemes=["full"], seeds=1, stop=STOP, rounds_max=9, out=out,
        resume=resume, progress=False,
    ),
    "serve": lambda out, resume: ff.serve("synthetic", out=out, insecure=True, address="127.0.0.1:0", progress=False),
}  # fmt: skip


@pytest.mark.parametrize("how", BEGINNINGS)
@pytest.mark.parametrize(
    "name", ["fleet.csv", "plan.csv", "model.safetensors", "compare.json", "sweep.json", "thesis.tex"]
)
def test_files_of_the_user_are_left_as_they_are(tmp_path: Path, how: str, name: str) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / ".hidden").write_text("mine")
    for resume in [False, True]:
        with pytest.raises(ff.InputError, match=name) as raised:
            BEGINNINGS[how](tmp_path, resume)
        assert raised.value.where == "out" and str(tmp_path) in str(raised.value)
        assert "new folder" in raised.value.remedy
    assert content(tmp_path) == {name: b"mine", ".hidden": b"mine"}


@pytest.mark.parametrize("how", ["simulate", "compare", "sweep"])
def test_what_belongs_to_a_run_may_be_in_its_folder(tmp_path: Path, how: str) -> None:
    out = tmp_path / "run"
    (out / "certs").mkdir(parents=True)
    for name in [".gitignore", "scenario.toml", "train.log", "certs/ca.pem"]:
        (out / name).write_text("mine")
    BEGINNINGS[how](out, False)
    # Reports and figures come later, and do not keep anybody from resuming.
    (out / "report.html").write_text("mine")
    BEGINNINGS[how](out, True)
    kept = content(out)
    assert all(
        kept[name] == b"mine" for name in ["scenario.toml", "train.log", "certs/ca.pem", "report.html"]
    )


def test_a_file_that_a_run_takes_may_be_in_its_folder(tmp_path: Path) -> None:
    """The run's copy of the first model has the name of the file, and the same content."""
    first = ff.simulate(ff.Scenario("synthetic", hidden=8), rounds_max=2, seed=1, progress=False)
    folder = tmp_path / "run"
    folder.mkdir()
    initial = first.save(folder / "initial.safetensors")
    before = initial.read_bytes()
    scenario = ff.Scenario("synthetic", hidden=8, initial=initial)
    assert len(ff.simulate(scenario, rounds_max=2, seed=1, out=folder, progress=False)) == 2
    assert initial.read_bytes() == before
