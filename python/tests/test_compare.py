"""Comparisons, sweeps and pilots from Python."""

from __future__ import annotations

import gc
import inspect
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from learners import Quadratic
from test_simulate import files, fleet_of, own_scheme


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


def test_a_scheme_that_fails_is_shown_with_its_reason(tmp_path: Path) -> None:
    scenario = ff.Scenario("synthetic", seed=1, target_accuracy=0.3, rounds_max=30)
    fleet = ff.Fleet(
        {"compute_secs": [1.0] * 5, "comm_secs": [1.0] * 5, "samples": [9] * 5, "availability": [0.5] * 5}
    )
    found = ff.compare(
        scenario, schemes=["auto", "fedavg=2"], seeds=1, fleet=fleet, pilots=False, progress=False
    )
    reason = found.rows[1]["error"]
    assert "always available" in reason
    assert repr(found).splitlines()[-1] == f"fedavg=2: {reason}"
    assert "<th>error</th>" in found._repr_html_()
    # The hint of a name such as tables.tex, followed to the letter.
    with pytest.raises(ff.InputError, match="several files") as refused:
        found.report(tmp_path / "tables.tex")
    assert "format='latex'" in str(refused.value.remedy)
    found.report(tmp_path / "tables", format="latex", title="Mine", reference="auto")
    assert "toprule" in (tmp_path / "tables" / "table1.tex").read_text()


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
        assert raised.value.where in ("over", "over['seed']")


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


def plans_of(learner: Quadratic, **more: Any) -> list[ff.Plan]:
    """A plan by a scheme, and two of probabilities of one's own."""
    fleet = ff.Fleet.paper(learner.devices, seed=4).with_samples(
        [learner.samples(device) for device in range(learner.devices)]
    )
    auto = ff.plan(fleet, bandwidth_mbps=20, overhead_secs=0.5, **more)
    return [
        auto,
        *(
            ff.Plan.from_q(fleet, [q] * learner.devices, bandwidth_mbps=20, overhead_secs=0.5)
            for q in (0.5, 0.9)
        ),
    ]


def test_plans_are_compared_as_simulate_runs_them(tmp_path: Path) -> None:
    learner, stop = Quadratic(), ff.Stop("loss", at=6.5)
    plans = plans_of(learner)
    shared = {"stop": stop, "rounds_max": 100, "seed": 3, "progress": False}
    found = ff.compare(learner, schemes=[*plans, "full"], seeds=1, reference=plans[1], give_up=None, out=tmp_path / "all", **shared)  # fmt: skip
    assert found.schemes == ["auto", "file=plan.csv", "file=plan-2.csv", "full"]
    assert found.result["reference"] == "file=plan.csv"
    runs = {run.scheme: run for run in found.runs}
    for name, plan in zip(["auto", "file=plan.csv"], plans, strict=False):
        ff.simulate(learner, plan=plan, out=tmp_path / name, **shared)  # type: ignore[arg-type]
        assert files(tmp_path / name) == files(tmp_path / "all" / "runs" / f"{name}-seed3")
    for name, plan in zip(found.schemes, plans, strict=False):
        np.testing.assert_array_equal(runs[name].q, plan.q)
    assert {run.scenario["fleet"]["bandwidth_mbps"] for run in runs.values()} == {20}
    again = ff.compare(learner, schemes=[*plans, "full"], seeds=1, reference=plans[1], give_up=None, out=tmp_path / "all",
                       resume=True, **shared)  # fmt: skip
    assert again.result == found.result


def test_constants_of_a_plan_are_those_of_all_runs() -> None:
    learner = Quadratic()
    exact, *_ = plans_of(learner, alpha=3.0, beta=2.0)
    stop = ff.Stop("loss", at=6.5)
    found = ff.compare(learner, schemes=[exact, "paper"], seeds=1, stop=stop, rounds_max=100, progress=False)
    assert found.schemes == ["exact", "paper"] and not (found.folder / "pilots").exists()
    assert (found.result["pilot"]["alpha"], found.result["pilot"]["beta"]) == (3.0, 2.0)


def test_plans_that_cannot_be_compared_are_refused() -> None:
    learner, stop = Quadratic(), ff.Stop("loss", at=6.5)
    auto, half, most = plans_of(learner)
    fleet = auto.fleet
    cases: list[tuple[list[Any], dict[str, Any], str, str]] = [
        ([auto, auto], {}, "schemes", "once"),
        ([auto, ff.plan(fleet, bandwidth_mbps=50, scheme="full")], {}, "schemes", "equal settings"),
        ([half, ff.Plan.from_q(ff.Fleet.paper(6), [0.5] * 6)], {}, "schemes", "one fleet"),
        ([auto], {"bandwidth_mbps": 7}, "fleet.bandwidth_mbps", "plan with it"),
        ([auto], {"fleet": ff.Fleet.paper(6, seed=4, payload_mbit=9)}, "schemes[0]", "scenario.fleet()"),
        ([half], {"fleet": fleet_of(learner)}, "schemes[0]", "the fleet of the run"),
        (["full", ff.plan(fleet, bandwidth_mbps=20, overhead_secs=0.5, downlink="unicast")], {}, "schemes[1]", "downlink"),
        ([auto], {"reference": most}, "reference", "one of the schemes"),
    ]  # fmt: skip
    for schemes, more, where, remedy in cases:
        with pytest.raises(ff.InputError) as raised:
            ff.compare(learner, schemes=schemes, stop=stop, rounds_max=5, progress=False, **more)
        assert raised.value.where == where and remedy in raised.value.remedy, str(raised.value)
    with pytest.raises(ff.InputError) as raised:
        ff.compare(Quadratic(5), schemes=[auto], stop=stop, progress=False)
    assert raised.value.where == "fleet"


def test_a_run_keeps_the_temporary_folder_of_its_comparison() -> None:
    def compared() -> ff.Comparison:
        stop = ff.Stop("loss", at=6.5)
        return ff.compare(Quadratic(), schemes=["full"], seeds=2, stop=stop, rounds_max=50, progress=False)

    first, second = compared().runs
    gc.collect()
    assert first.folder is not None and second.folder is not None and first.folder.is_dir()
    assert first.best_model is not None and len(ff.open(first.folder)) == len(first)
    folder = first.folder.parents[1]
    del first
    gc.collect()
    assert second.folder.is_dir() and second.report(second.folder.parent / "report.md").is_file()
    copied = pickle.loads(pickle.dumps(second))
    del second
    gc.collect()
    assert not folder.exists(), "nobody refers to the folder any more"
    assert len(copied) > 0 and copied.model, "a pickled run holds its records and its model"


def test_the_runs_of_a_comparison_are_its_own_in_the_order_of_schemes_and_seeds(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "schemes": ["full", "fedavg=3"], "stop": ff.Stop("loss", at=6.5), "rounds_max": 30, "out": tmp_path, "progress": False,
    }  # fmt: skip
    found = ff.compare(Quadratic(), seeds=3, seed=9, **arguments)
    expected = [(scheme, seed) for scheme in ("full", "fedavg=3") for seed in (9, 10, 11)]
    assert [(run.scheme, run.scenario["seed"]) for run in found.runs] == expected
    # A comparison that does not know its first seed, as at the points of a sweep, finds the same.
    unknown = ff.Comparison(found.result, found.folder)
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "runs" / "full-seeds").mkdir()
    (tmp_path / "runs" / "full-seed12").mkdir()
    for each in (found, unknown):
        assert [(run.scheme, run.scenario["seed"]) for run in each.runs] == expected
    fewer = ff.compare(Quadratic(), seeds=1, seed=10, resume=True, **arguments)
    assert [(run.scheme, run.scenario["seed"]) for run in fewer.runs] == [("full", 10), ("fedavg=3", 10)]
    shutil.rmtree(tmp_path / "runs" / "full-seed10")
    assert [(run.scheme, run.scenario["seed"]) for run in fewer.runs] == [("fedavg=3", 10)]
    shutil.rmtree(tmp_path / "runs")
    assert found.runs == unknown.runs == []


def test_comparisons_and_sweeps_have_the_same_schemes_by_default() -> None:
    of_compare, of_sweep = (
        inspect.signature(function).parameters["schemes"].default for function in (ff.compare, ff.sweep)
    )
    # One tuple: two equal ones would part company one day.
    assert of_compare is of_sweep and of_compare[0] == "auto" and "paper" in of_compare
