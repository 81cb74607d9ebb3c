"""Run folders of Flower runs: what is in them after interruptions, and whose files they leave alone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import CoinStrategy, VirtualGrid
from fedflip.flower._model import Layout
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

FLEET = ff.Fleet(
    {"compute_secs": [1.0, 2.0, 3.0, 1.5], "comm_secs": [1.0, 2.0, 1.0, 0.5], "samples": [10, 20, 30, 40]}
)
FULL = ff.Plan.from_q(FLEET, [1.0] * 4)

chancy = ClientApp()
chancy.train()(apps.noisy_train)


@chancy.evaluate()
def chancy_evaluate(message: Message, context: Context) -> Message:
    """A loss by the global generator."""
    metrics = MetricRecord({"loss": float(np.random.random()), "num-examples": 1})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


class Stop(Exception):
    """The end of a process, as far as a run is concerned."""


def run(
    out: Path,
    rounds: int = 6,
    *,
    stop: int | None = None,
    plan: Any = FULL,
    scored: bool = False,
    clock: dict[str, Any] | None = None,
    **more: Any,
) -> float:
    """Runs or resumes, perhaps until the server raises in a round; returns the virtual time."""

    def score(round: int, arrays: ArrayRecord) -> MetricRecord | None:
        if round == stop:
            raise Stop
        return MetricRecord({"accuracy": round / 10}) if scored else None

    strategy = CoinStrategy(plan, **{"seed": 3, "fraction_evaluate": 0.0, "resume": True, "out": out, **more})
    grid = VirtualGrid(chancy, FLEET, bandwidth_mbps=2, seed=7, **(clock or {}))
    # In double precision, which a checkpoint keeps in a file of its own.
    arrays = ArrayRecord([np.linspace(0, 1, 5)])
    grid.run(apps.server_of(strategy, [], rounds, arrays=arrays, evaluate_fn=score))
    return grid.now


def same_folders(one: Path, other: Path) -> bool:
    names = ["records.jsonl", "model.safetensors", "run.toml", "plan.csv", "fleet.csv"]
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize("checkpoint_secs", [0.0, 1e6])
@pytest.mark.parametrize("stop", [1, 2, 4])
def test_a_run_that_raised_goes_on_to_the_same_bytes(
    tmp_path: Path, stop: int, checkpoint_secs: float
) -> None:
    """In the same process, where the first strategy still lives; also before the second checkpoint."""
    more = {"checkpoint_secs": checkpoint_secs, "scored": True}
    run(tmp_path / "whole", **more)
    with pytest.raises(Stop) as raised:
        run(tmp_path / "part", stop=stop, **more)
    run(tmp_path / "part", **more)
    assert same_folders(tmp_path / "whole", tmp_path / "part")
    assert ff.open(tmp_path / "part").evaluations["accuracy"].tolist() == [x / 10 for x in range(7)]
    assert raised.traceback, "what keeps the first run alive"


def test_evaluations_after_a_resume_are_those_of_a_whole_run(tmp_path: Path) -> None:
    """Their random numbers, and the time that they cost."""
    conditions = {"compute_jitter": 0.5, "dropout": 0.2}
    more = {
        "fraction_evaluate": 1.0,
        "checkpoint_secs": 0.0,
        "clock": {"conditions": conditions, "evaluate_share": 0.5},
    }
    whole = run(tmp_path / "whole", **more)
    with pytest.raises(Stop):
        run(tmp_path / "part", stop=4, **more)
    assert run(tmp_path / "part", **more) == whole
    assert same_folders(tmp_path / "whole", tmp_path / "part")


def test_files_of_others_stay(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, 2, checkpoint_secs=0.0)
    for name in ("arrays-mine.npz", "clients-of-mine.bin", "arrays-1.npz.bak", "notes.txt"):
        (out / name).write_text("mine")
    run(out, 5, checkpoint_secs=0.0)
    names = {path.name for path in out.iterdir()}
    assert {"arrays-mine.npz", "clients-of-mine.bin", "arrays-1.npz.bak", "notes.txt"} <= names
    assert {"arrays-5.npz", "clients-5.bin"} <= names
    assert not names & {"arrays-1.npz", "arrays-2.npz", "arrays-3.npz", "clients-3.bin"}
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    with pytest.raises(ff.FedflipError, match=r"neither empty nor a run folder \(found \"thesis.tex\"\)"):
        run(other)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


class Seldom(FedAvg):
    """Evaluates every second round."""

    def configure_evaluate(self, server_round: int, *words: Any) -> Any:
        return super().configure_evaluate(server_round, *words) if server_round % 2 == 0 else []


@pytest.mark.parametrize("named", [(), ("loss",)])
def test_metrics_that_come_late_can_be_named(tmp_path: Path, named: tuple[str, ...]) -> None:
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run", metrics=named)
    grid.run(apps.server_of(Seldom(), [], 4))
    assert len(ff.open(tmp_path / "run").evaluations["round"]) == 2 * len(named)

    def last(round: int, arrays: ArrayRecord) -> MetricRecord | None:
        return MetricRecord({"loss": 0.5}) if round == 4 else None

    strategy = CoinStrategy(FULL, fraction_evaluate=0.0, out=tmp_path / "coins", metrics=named)
    VirtualGrid(apps.app, FLEET, bandwidth_mbps=2).run(apps.server_of(strategy, [], 4, evaluate_fn=last))
    assert len(ff.open(tmp_path / "coins").evaluations["round"]) == len(named)


def test_the_folder_of_a_grid_has_empty_rounds_before_the_first_model(tmp_path: Path) -> None:
    plan = ff.Plan.from_q(FLEET, [0.1] * 4)
    cohorts = [plan.sample(round=round, seed=5).tolist() for round in range(1, 21)]
    assert cohorts[0] == [] and any(cohorts)
    strategy = CoinStrategy(plan, seed=5, fraction_evaluate=0.0)
    VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run").run(apps.server_of(strategy, [], 20))
    opened = ff.open(tmp_path / "run")
    assert len(opened) == 20
    assert opened.participants["device"].tolist() == [device for cohort in cohorts for device in cohort]


class First(FedAvg):
    """Lets clients evaluate the first model, too."""

    def start(self, grid: Any, initial_arrays: Any, **more: Any) -> Any:
        from flwr.app import ConfigRecord

        list(grid.send_and_receive(self.configure_evaluate(0, initial_arrays, ConfigRecord(), grid)))
        return super().start(grid, initial_arrays, **more)


def test_an_evaluation_before_the_first_round_is_recorded(tmp_path: Path) -> None:
    VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run").run(apps.server_of(First(), [], 2))
    assert ff.open(tmp_path / "run").evaluations["round"].tolist() == [0, 1, 2]


def test_a_report_names_a_flower_app_and_takes_a_target(tmp_path: Path) -> None:
    VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run").run(apps.server_of(FedAvg(), [], 4))
    run = ff.open(tmp_path / "run")
    assert run.task == "Flower app"
    report = run.report(tmp_path / "report.md").read_text()
    assert report.startswith("# Flower app\n") and "external" not in report.split("Every key")[0]
    second = run.evaluations["loss"][1]
    table = run.report(tmp_path / "target.md", target=f"loss={second}").read_text()
    assert table.startswith("# Flower app to loss") and "1 of 1" in table


def test_the_model_of_a_grid_is_the_last_that_was_sent(tmp_path: Path) -> None:
    results: list[Any] = []
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run")
    grid.run(apps.server_of(FedAvg(fraction_evaluate=1.0), results, 3))
    assert np.array_equal(ff.open(tmp_path / "run").model["0"], results[0].arrays["0"].numpy())


def test_a_folder_serves_a_strategy_or_a_grid_but_not_both(tmp_path: Path) -> None:
    strategy = CoinStrategy(FULL, fraction_evaluate=0.0, out=tmp_path / "run")
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, out=tmp_path / "run")
    with pytest.raises(ff.InputError, match="another fedflip is writing to it"):
        grid.run(apps.server_of(strategy, [], 3))


def test_single_precision_holds_a_model_to_the_bit() -> None:
    arrays = {
        "b": np.array([-0.0, 0.0, 1e-45, 3e38], np.float32),
        "a": np.array([[-0.0, 65504.0]], np.float16),
        "c": np.array([True, False]),
        "d": np.array([-32768, 32767], np.int16),
        "e": np.zeros((0, 2), np.float32),
    }
    layout = Layout(arrays)
    again = layout.unflat(layout.flat(arrays), arrays)
    assert layout.is_exact
    assert {name: array.tobytes() for name, array in again.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_the_log_tells_the_first_and_the_last_checkpoint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    with caplog.at_level(logging.DEBUG, logger="flwr"):
        run(tmp_path / "run", 4, checkpoint_secs=0.0)
    told = [(each.levelname, each.getMessage()) for each in caplog.records if "checkpoint" in each.msg]
    levels = ["INFO", "DEBUG", "DEBUG", "DEBUG", "INFO"]
    assert [level for level, _ in told] == levels
    assert told[0][1] == f"fedflip: wrote a checkpoint after round 1 to {tmp_path / 'run'}"
    assert "after round 4 " in told[-1][1]
