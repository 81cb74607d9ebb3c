"""Comparisons, sweeps and pilots from Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fedflip as ff
import pytest
from learners import Quadratic
from test_simulate import files, own_scheme


def test_a_comparison_is_that_of_the_command_line(tmp_path: Path) -> None:
    scenario = ff.Scenario("synthetic", seed=2, target_accuracy=0.5)
    found = ff.compare(
        scenario, schemes=["auto", "full"], seeds=2, pilots=False, out=tmp_path / "python", progress=False
    )
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    command = [sys.executable, "-m", "fedflip", "compare", "s.toml", "--schemes", "auto,full", "--seeds", "2",
               "--no-pilot", "--out", "cli"]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    theirs = json.loads((tmp_path / "cli" / "compare.json").read_text())
    assert found.result == theirs and found.schemes == ["auto", "full"]
    for run in (tmp_path / "cli" / "runs").iterdir():
        assert files(run) == files(tmp_path / "python" / "runs" / run.name)
    assert len(found.runs) == 4 and found.to_pandas()["reached"].tolist() == [2, 2]
    assert "auto" in repr(found) and "<table" in found._repr_html_()


def test_learners_and_own_schemes_are_compared() -> None:
    found = ff.compare(
        Quadratic(),
        schemes=["full", "fedavg=3", own_scheme],
        seeds=2,
        stop=ff.Stop("loss", at=6.5),
        rounds_max=200,
        progress=False,
    )
    assert found.schemes == ["full", "fedavg=3", "custom=own_scheme"]
    full = found.rows[0]
    assert full["reached"] == 2 and full["hours"] > 0
    # Seeds have first models of their own.
    firsts = {run.folder.joinpath("initial.safetensors").read_bytes() for run in found.runs if run.folder}
    assert len(firsts) == 2


def test_a_sweep_has_a_comparison_at_every_point(tmp_path: Path) -> None:
    found = ff.sweep(
        Quadratic(), over={"bandwidth_mbps": [1, 100], "scheme": ["full"]}, schemes=["full"], seeds=1,
        stop=ff.Stop("loss", at=6.5), rounds_max=100, out=tmp_path, progress=False,
    )  # fmt: skip
    slow, fast = (comparison.rows[0]["hours"] for _, comparison in found)
    assert slow > fast and len(found.rows) == 2 and len(found.to_pandas()) == 2
    for bad in [{}, {"seed": []}, {"seed": "12"}]:
        with pytest.raises(ff.InputError) as raised:
            ff.sweep(Quadratic(), over=bad)
        assert raised.value.where == "over"


def test_pilots_of_a_learner_measure_constants() -> None:
    constants = ff.pilot(
        Quadratic(devices=10), pilot={"loss": 7.0, "rounds_max": 300}, progress=False, seed=1
    )
    assert constants.alpha > 0 and constants.beta > 0 and len(constants.runs) >= 2
    plan = ff.plan(ff.Fleet.paper(10, seed=1), bandwidth_mbps=10, scheme="paper", alpha=constants.alpha,
                   beta=constants.beta)  # fmt: skip
    assert plan.rounds is not None and plan.rounds > 0


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ff.InputError) as raised:
        ff.compare(Quadratic(), schemes=[])
    assert raised.value.where == "schemes"
    with pytest.raises(ff.InputError) as raised:
        ff.compare(Quadratic(), schemes="auto")
    assert "['auto']" in raised.value.remedy
    for schemes in [["full", "full"], [lambda *_: None, lambda *_: None]]:
        with pytest.raises(ff.InputError, match="twice"):
            ff.compare(Quadratic(), schemes=schemes)
    with pytest.raises(ff.InputError) as raised:
        ff.compare(Quadratic(), schemes=["full"], seeds=0)
    assert raised.value.where == "seeds"
    with pytest.raises(ff.InputError, match="target"):
        ff.compare(Quadratic(), schemes=["full"], progress=False)
    with pytest.raises(ff.InputError, match="exat"):
        ff.compare(Quadratic(), schemes=["exat"], stop=ff.Stop("loss", at=1.0), progress=False)
