"""Runs: records against the command line and the files, models, what runs say of themselves, pickling."""

from __future__ import annotations

import csv
import gc
import io
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pyarrow.parquet as pq
import pytest
from run_folders import (
    RUNS,
    assert_same_tables,
    assert_same_tensors,
    json_lines,
    make_runs,
    resident_bytes,
    tensors_by_hand,
)


@pytest.fixture(scope="module")
def desk(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with run folders."""
    return make_runs(command, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def lossy(desk: Path) -> ff.Run:
    return ff.open(desk / "lossy")


def number(text: str) -> float:
    return float(text) if text else float("nan")


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("table", ["rounds", "participants"])
def test_tables_are_those_of_export(
    command: Callable[..., str], desk: Path, tmp_path: Path, name: str, table: str
) -> None:
    found = getattr(ff.open(desk / name), table)
    rows = list(csv.DictReader(io.StringIO(command("export", str(desk / name), "--table", table))))
    assert found.columns == list(rows[0]) and len(found) == len(rows)
    for column in found:
        if column == "name":
            assert found[column].tolist() == [row[column] for row in rows]
        else:
            np.testing.assert_array_equal(found[column], [number(row[column]) for row in rows], column)
    file = tmp_path / "table.parquet"
    command("export", str(desk / name), "--table", table, "--out", str(file))
    for column, values in zip(found, pq.read_table(file).columns, strict=True):
        expected = [np.nan if value is None else value for value in values.to_pylist()]
        assert found[column].tolist() == expected or np.array_equal(
            found[column], expected, equal_nan=True
        ), column


@pytest.mark.parametrize("name", RUNS)
def test_tables_are_those_of_the_lines(desk: Path, name: str) -> None:
    run, lines = ff.open(desk / name), json_lines(desk / name, "round")
    metrics = [metric["name"] for metric in run.header["metrics"]]
    assert len(run) == len(lines)
    rounds = run.rounds
    for row, line in enumerate(lines, start=1):
        assert rounds["round"][row] == line["round"]
        assert (
            rounds["start_secs"][row] == line["start_secs"]
            and rounds["round_secs"][row] == line["round_secs"]
        )
        assert rounds["participants"][row] == len(line["cohort"]) and rounds["lost"][row] == len(
            line.get("lost", [])
        )
        for metric in metrics:
            value = line.get("metrics", {}).get(metric, np.nan)
            assert np.array_equal(rounds[metric][row], value, equal_nan=True)
    expected = [
        (
            line["round"],
            device,
            np.float32(mbps),
            int(device not in [lost["device"] for lost in line.get("lost", [])]),
        )
        for line in lines
        for device, mbps in zip(line["cohort"], line["mbps"], strict=True)
    ]
    parts = run.participants
    assert list(zip(*(parts[column].tolist() for column in parts.columns[:4]), strict=True)) == expected
    assert parts["name"].tolist() == [run.fleet.names[device] for device in parts["device"]]


@pytest.mark.parametrize("name", RUNS)
def test_every_evaluation_is_a_row(desk: Path, name: str) -> None:
    run = ff.open(desk / name)
    initial, end = json_lines(desk / name, "initial")[0], json_lines(desk / name, "end")[0]
    expected = [(0, initial["secs"], initial["metrics"])]
    for line in json_lines(desk / name, "round"):
        expected.append((line["round"], line["start_secs"] + line["round_secs"], line.get("metrics", {})))
    expected.append((end["rounds"], end["secs"], end.get("metrics", {})))
    expected = [row for row in expected if row[2]]
    table = run.evaluations
    assert list(zip(table["round"].tolist(), table["secs"].tolist(), strict=True)) == [
        row[:2] for row in expected
    ]
    for metric in ("accuracy", "loss"):
        assert table[metric].tolist() == [row[2][metric] for row in expected]
    assert run.end is not None and run.end.metrics == expected[-1][2]


def test_models_are_those_of_the_files(desk: Path) -> None:
    run = ff.open(desk / "auto")
    assert_same_tensors(run.model, tensors_by_hand(desk / "auto" / "model.safetensors"))
    assert_same_tensors(run.best_model, tensors_by_hand(desk / "auto" / "best.safetensors"))
    with pytest.raises(ValueError, match="read-only"):
        run.model["fc.bias"][0] = 1
    run.model.clear()
    assert len(run.model) == 2, "the dict is the caller's own"


def test_what_a_run_says_of_itself(desk: Path) -> None:
    run = ff.open(str(desk / "auto"))
    header = json_lines(desk / "auto", "header")[0]
    header.pop("type")
    assert run.header == header
    assert (run.task, run.scheme, run.seed, run.devices) == ("synthetic", "auto", 3, 20)
    assert run.folder == desk / "auto" and run.ended and bool(run)
    assert run.scenario_toml == (desk / "auto" / "run.toml").read_text()
    assert run.scenario["fleet"]["devices"] == 20 and run.scenario["seed"] == 3
    assert run.end is not None and (run.end.reason, run.end.rounds, run.end.detail) == (
        "target",
        len(run),
        None,
    )
    assert run.summary["rounds"] == len(run) and run.summary["end"] == "target"
    assert run.fleet == ff.Fleet(desk / "auto" / "fleet.csv")
    text = repr(run)
    assert (
        text.startswith(f"Run(synthetic under auto, seed 3: {len(run)} rounds in ")
        and "reached its target)" in text
    )
    page = run._repr_html_()
    assert "<svg" in page and "accuracy over virtual time" in page and "reached its target" in page
    with pytest.raises(AttributeError, match="immutable"):
        run.seed = 4  # type: ignore[misc]


def test_q_is_the_mean_of_usual_and_quiet_rounds(desk: Path) -> None:
    rows = list(csv.DictReader((desk / "auto" / "plan.csv").open()))
    q = ff.open(desk / "auto").q
    assert q.tolist() == [float(row["q"]) for row in rows] and not q.flags.writeable
    rows = list(csv.DictReader((desk / "quiet" / "plan.csv").open()))
    usual, quiet = (np.array([float(row[name]) for row in rows]) for name in ("q", "quiet_q"))
    assert np.all(quiet > usual)
    np.testing.assert_allclose(ff.open(desk / "quiet").q, 0.75 * usual + 0.25 * quiet, rtol=1e-12)


def test_times_follow_each_other_within_a_round(desk: Path, lossy: ff.Run) -> None:
    run = ff.open(desk / "download")
    table, fleet = run.times(2), run.fleet
    line = json_lines(desk / "download", "round")[1]
    assert table["device"].tolist() == line["cohort"]
    np.testing.assert_array_equal(table["download_secs"], line["download_secs"])
    np.testing.assert_array_equal(table["compute_secs"], fleet.compute_secs)
    np.testing.assert_allclose(table["upload_secs"], fleet.comm_secs / np.float32(line["mbps"]).astype(float))
    # All devices finish together, and the overhead comes on top.
    finish = table["download_secs"] + table["compute_secs"] + table["upload_secs"]
    np.testing.assert_allclose(finish, line["round_secs"] - 0.5, rtol=1e-5)
    assert np.all(table["start_secs"] == line["start_secs"])
    assert len(lossy.times()) == len(lossy.participants)
    assert lossy.times()["reported"].sum() == lossy.participants["reported"].sum() < len(lossy.participants)
    for wrong in (0, len(run) + 1, -1):
        with pytest.raises(ff.InputError) as caught:
            run.times([1, wrong])
        assert (caught.value.where, caught.value.value) == ("rounds", wrong)
        assert caught.value.remedy == f"name rounds from 1 to {len(run)}"


@pytest.fixture
def both(tmp_path: Path) -> tuple[ff.Run, ff.Run]:
    """The same run in memory and in a folder."""
    arguments: dict[str, Any] = {"plan": "fixed=0.3", "rounds_max": 6, "seed": 5, "progress": False}
    scenario = ff.Scenario("synthetic", devices=10)
    in_memory = ff.simulate(scenario, **arguments)
    return in_memory, ff.simulate(scenario, out=tmp_path / "out", **arguments)


def test_a_run_in_memory_keeps_the_digests_of_the_users_own_data(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    for name, samples in (("train", 200), ("test", 20)):
        x = generator.normal(size=(samples, 5)).astype(np.float32)
        np.savez(tmp_path / f"{name}.npz", x=x, y=(x[:, 0] > 0).astype(np.int64))
    data = {name: str(tmp_path / f"{name}.npz") for name in ("train", "test")}
    scenario = ff.Scenario("own", devices=3, data=data)
    arguments: dict[str, Any] = {"plan": "full", "rounds_max": 1, "progress": False}
    in_memory = ff.simulate(scenario, **arguments)
    in_folder = ff.simulate(scenario, out=tmp_path / "out", **arguments)
    assert "train_digest" in in_folder.scenario_toml
    assert in_memory.scenario_toml == in_folder.scenario_toml


def test_a_run_in_memory_has_everything(both: tuple[ff.Run, ff.Run], tmp_path: Path) -> None:
    in_memory, in_folder = both
    assert in_memory.folder is None and in_folder.folder == tmp_path / "out"
    for table in ("rounds", "participants", "evaluations"):
        assert_same_tables(getattr(in_memory, table), getattr(in_folder, table))
    assert in_memory.header == in_folder.header and in_memory.summary == in_folder.summary
    assert in_memory.end == in_folder.end and in_memory.scenario_toml == in_folder.scenario_toml
    assert in_memory.fleet == in_folder.fleet and in_memory.q.tolist() == in_folder.q.tolist()
    assert_same_tensors(in_memory.model, in_folder.model)
    assert in_memory.best_model is None
    assert (
        in_memory.save(tmp_path / "m.safetensors").read_bytes()
        == (tmp_path / "out/model.safetensors").read_bytes()
    )
    ours = in_memory.report(tmp_path / "ours.md").read_text()
    theirs = in_folder.report(tmp_path / "theirs.md").read_text()
    assert ours == theirs.replace(str(tmp_path / "out"), "fixed=0.3-seed5")
    first, second = (in_memory.report(tmp_path / f"{n}.html").read_bytes() for n in (1, 2))
    assert first == second, "the temporary folder leaves no trace"


@pytest.mark.parametrize("kept", [True, False])
def test_a_pickled_run_needs_no_folder(
    desk: Path, tmp_path: Path, kept: bool, both: tuple[ff.Run, ff.Run]
) -> None:
    if kept:
        shutil.copytree(desk / "lossy", tmp_path / "copy")
        run = ff.open(tmp_path / "copy")
    else:
        run = both[0]
    again = pickle.loads(pickle.dumps(run))
    best = run.best_model
    if kept:
        shutil.rmtree(tmp_path / "copy")
    assert again.folder == run.folder and repr(again) == repr(run)
    for table in ("rounds", "participants", "evaluations"):
        assert_same_tables(getattr(again, table), getattr(run, table))
    assert again.header == run.header and again.end == run.end and again.scenario == run.scenario
    assert again.fleet == run.fleet and again.q.tolist() == run.q.tolist()
    assert_same_tensors(again.model, run.model if not kept else again.model)
    assert (again.best_model is None) == (best is None)
    assert again.report(tmp_path / "report.md").read_text().startswith("#")


def test_nothing_leaks_over_ten_thousand_opens(
    desk: Path, tmp_path: Path, command: Callable[..., str]
) -> None:
    command(
        "run", "s.toml", "--quiet", "--out", str(tmp_path / "run"), "--set", "stop.rounds_max=3", cwd=desk
    )

    def opened(times: int) -> int:
        for place in range(times):
            run = ff.open(tmp_path / "run")
            if place % 10 == 0:
                assert len(run.rounds["loss"]) == 4 and run.model and run.header and run.end
        gc.collect()
        return resident_bytes()

    before = opened(500)
    grown = opened(10_000) - before
    assert grown < 8 << 20, f"{grown} bytes more: a run that stays would be 4 kB or more"
