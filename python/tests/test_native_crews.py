"""Native tasks with workers of Python: the bytes of one thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest
from fedflip._crew import InlineCrew
from fedflip._native_learner import NativeLearner
from run_folders import RUNS, SCENARIO, make_runs


def folder_bytes(folder: Path) -> dict[str, bytes]:
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("host.json", ".lock")
    ]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if "checkpoint" not in path.parts
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, command: Any) -> Path:
    """Runs of all kinds: losses, quiet rounds, downloads, schemes that ask devices, and no rounds at all."""
    return make_runs(command, tmp_path_factory.mktemp("runs"))


def of_words(words: list[str]) -> dict[str, Any]:
    """The options of a command as keys of a scenario."""
    values = [word for word in words if not word.startswith("--")]
    names = [word for word in words if word.startswith("--")]
    keys: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        key, _, text = ("plan.scheme=" + value if name == "--scheme" else value).partition("=")
        number = text.replace(".", "", 1).isdigit()
        keys[key.replace(".", "__")] = (float(text) if "." in text else int(text)) if number else text
    return keys


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_all_kinds_have_the_bytes_of_the_command_line(runs: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    scenario = ff.Scenario(tmp_path / "s.toml", **of_words(RUNS[name]))
    ff.simulate(scenario, crew=InlineCrew(), out=tmp_path / name, progress=False)
    assert folder_bytes(tmp_path / name) == folder_bytes(runs / name)


def test_processes_have_the_bytes_of_one_thread(tmp_path: Path) -> None:
    scenario = ff.Scenario("synthetic", rounds_max=5, seed=2, scheme="full", update={"encoding": "int8"})
    ff.simulate(scenario, threads=1, out=tmp_path / "one", progress=False)
    ff.simulate(scenario, workers="process", threads=2, out=tmp_path / "two", progress=False)
    assert folder_bytes(tmp_path / "one") == folder_bytes(tmp_path / "two")


def test_a_fleet_and_a_scheme_in_memory_reach_the_workers(tmp_path: Path, paper_fleet: ff.Fleet) -> None:
    scenario = ff.Scenario("synthetic", rounds_max=4, seed=2)

    def first_three(*_: Any) -> tuple[list[int], list[float]]:
        return [0, 1, 2], [0.5, 0.3, 0.2]

    for plan in ("full", first_three):
        found = [
            ff.simulate(scenario, fleet=paper_fleet, plan=plan, progress=False, **how)
            for how in ({"threads": 1}, {"crew": InlineCrew()})
        ]
        models = [[tensor.tobytes() for tensor in run.model.values()] for run in found]
        assert models[0] == models[1]


def test_comparisons_and_pilots_have_the_same_results(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"seed": 4, "pilot": {"loss": 2.2}, "progress": False}
    scenario = ff.Scenario("synthetic", target_accuracy=0.4)
    for name, how in (("one", {"threads": 1}), ("crew", {"crew": InlineCrew()})):
        ff.compare(scenario, schemes=["auto", "paper"], seeds=1, out=tmp_path / name, **how, **settings)
    assert folder_bytes(tmp_path / "one") == folder_bytes(tmp_path / "crew")
    pilots = [ff.pilot(scenario, **how, **settings) for how in ({"threads": 1}, {"crew": InlineCrew()})]
    assert pilots[0].alpha == pilots[1].alpha and pilots[0].beta == pilots[1].beta


def test_a_learner_travels_as_text_and_reads_its_data_there() -> None:
    import pickle

    learner = NativeLearner(ff.Scenario("synthetic", devices=7).to_toml())
    sent = pickle.dumps(learner)
    assert len(sent) < 20_000
    other = pickle.loads(sent)
    key = ff.TrainKey(seed=1, round=2, device=3)
    model = learner.initial(5)
    (update, loss), (again, same) = learner.train(model, key), other.train(model, key)
    assert update.tobytes() == again.tobytes() and loss == same
    assert learner.devices == 7 and learner.data_digest() == other.data_digest()
    changed = NativeLearner(ff.Scenario("synthetic", devices=7, data={"seed": 9}).to_toml())
    assert changed.data_digest() != learner.data_digest()
    assert learner.evaluate(model)["accuracy"][1] == 1.0
    with pytest.raises(ff.LearnerError, match="device 99 holds no samples"):
        learner.train(model, ff.TrainKey(1, 1, 99))


def test_a_crew_that_cannot_open_ends_the_run_with_its_error() -> None:
    class Closed(InlineCrew):
        def open(self, work: Any) -> None:
            raise ff.FedflipError("the cluster is on holiday", remedy="wait")

    with pytest.raises(ff.FedflipError, match="on holiday"):
        ff.simulate(ff.Scenario("synthetic"), crew=Closed(), rounds_max=1, progress=False)


@pytest.mark.parametrize("crew", [ff.RayCrew, InlineCrew])
def test_a_time_limit_that_no_crew_can_keep_is_refused_before_the_crew_opens(crew: Any) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = [
        (ff.simulate, {"rounds_max": 1}),
        (ff.compare, {"schemes": ["full"], "target_accuracy": 0.4}),
        (ff.sweep, {"over": {"dropout": [0.1]}, "schemes": ["full"], "target_accuracy": 0.4}),
        (ff.pilot, {}),
    ]
    for call, arguments in calls:
        with pytest.raises(ff.InputError, match="timeout_secs is 3.0, but native tasks train in") as caught:
            call(ff.Scenario("synthetic"), crew=crew(), timeout_secs=3, progress=False, **arguments)
        assert caught.value.where == "timeout_secs" and "workers='process'" in caught.value.remedy


def test_the_command_line_trains_in_processes(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = [sys.executable, "-m", "fedflip", "run", "s.toml", "--quiet", "--out", "auto", *RUNS["auto"]]
    subprocess.run([*words, "--crew", "process", "--workers", "2"], cwd=tmp_path, check=True, timeout=120)
    assert folder_bytes(tmp_path / "auto") == folder_bytes(runs / "auto")


def test_flags_that_a_crew_does_not_have_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = [sys.executable, "-m", "fedflip", "run", "s.toml", "--crew", "process", "--address", "auto"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "--address is given" in done.stderr
