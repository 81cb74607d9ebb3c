"""Run folders that are interrupted, resumed, damaged, incomplete or something else."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from run_folders import (
    SCENARIO,
    assert_same_tensors,
    make_runs,
    tensors_by_hand,
)


@pytest.fixture(scope="module")
def desk(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with run folders."""
    return make_runs(command, tmp_path_factory.mktemp("runs"), ["auto", "lossy"])


def checkpoint_by_hand(folder: Path) -> tuple[dict[str, Any], list[Any]]:
    """The newest checkpoint: its line of JSON, and its vectors."""
    found = []
    for slot in ("a", "b"):
        content = (folder / "checkpoint" / slot).read_bytes()
        assert zlib.crc32(content[:-4]) == int.from_bytes(content[-4:], "little")
        line, numbers = content.split(b"\n", 1)
        head = json.loads(line)
        values = np.frombuffer(numbers[:-4], "<f4")
        found.append((head, np.split(values, np.cumsum(head["lens"])[:-1])))
    return max(found, key=lambda checkpoint: checkpoint[0]["round"])


@pytest.fixture
def killed(desk: Path, tmp_path: Path) -> Iterator[Path]:
    """The folder of a run that was killed between two checkpoints."""
    package = str(Path(ff.__file__).resolve().parents[1])
    words = ["--set", "stop.rounds_max=1000000", "--set", "record.checkpoint_secs=0.05", "--threads", "1"]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fedflip",
            "run",
            str(desk / "s.toml"),
            "--quiet",
            "--out",
            str(tmp_path / "run"),
            *words,
        ],
        env={**os.environ, "PYTHONPATH": package},
        stdout=subprocess.DEVNULL,
    )
    records, second = tmp_path / "run" / "records.jsonl", tmp_path / "run" / "checkpoint" / "b"
    for _ in range(600):
        if second.exists() and records.stat().st_size > 30_000:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    yield tmp_path / "run"


def test_a_killed_run_opens_with_the_model_of_its_checkpoint(killed: Path, tmp_path: Path) -> None:
    run = ff.open(killed)
    assert not run.ended and run.end is None and len(run) > 10
    assert "interrupted or in progress" in repr(run)
    head, vectors = checkpoint_by_hand(killed)
    # The synthetic task averages its models, and the average is the result.
    assert run.scenario["server"]["averaging"] == 0.9 and len(vectors) == 2
    result, (weight, bias) = vectors[1], (run.model["fc.weight"], run.model["fc.bias"])
    assert np.array_equal(np.concatenate([weight.ravel(), bias]), result)
    assert head["round"] > 0
    assert run.save(tmp_path / "model.safetensors").is_file()
    assert_same_tensors(run.model, tensors_by_hand(tmp_path / "model.safetensors"))
    assert run.report(tmp_path / "report.html").stat().st_size > 10_000
    # A torn last line is one that is being written.
    with (killed / "records.jsonl").open("ab") as records:
        records.write(b'{"type":"rou')
    assert len(ff.open(killed)) == len(run)
    again = pickle.loads(pickle.dumps(run))
    assert_same_tensors(again.model, run.model)


def test_the_model_of_a_resumed_run_is_the_last_one(
    command: Callable[..., str], desk: Path, tmp_path: Path
) -> None:
    out = str(tmp_path / "run")
    for cap in (5, 9):
        command(
            "run", "s.toml", "--quiet", "--out", out, "--resume", "--set", f"stop.rounds_max={cap}", cwd=desk
        )
    run = ff.open(out)
    assert len(run) == 9
    assert_same_tensors(run.model, tensors_by_hand(tmp_path / "run" / "model.safetensors"))
    # An old model beside records without an end is not the model of the run.
    lines = (tmp_path / "run" / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "records.jsonl").write_text("".join(lines[:-1]))
    (tmp_path / "run" / "model.safetensors").write_bytes(b"older")
    assert_same_tensors(ff.open(out).model, run.model)


def test_an_interrupted_learner_has_its_tensors(tmp_path: Path) -> None:
    class Two:
        """A learner with two tensors, whose names are not in their order."""

        devices = 3

        def samples(self, device: int) -> int:
            return 10 + device

        def initial(self, seed: int) -> dict[str, Any]:
            return {"w": np.zeros((2, 3), np.float32), "b": np.zeros(3, np.float32)}

        def train(self, model: Any, key: Any) -> tuple[dict[str, Any], float]:
            ones = {"w": np.ones((2, 3), np.float32), "b": np.full(3, 2, np.float32)}
            return ones, 0.5

        def evaluate(self, model: Any) -> dict[str, float]:
            return {"loss": float(np.sum(model["w"]))}

    fleet = ff.Fleet({"compute_secs": [1.0] * 3, "comm_secs": [1.0] * 3, "samples": [10, 11, 12]})
    run = ff.simulate(Two(), fleet=fleet, plan="full", seed=1, rounds_max=9, out=tmp_path / "run", progress=False,
                      callbacks=[lambda record: record.round >= 4])  # fmt: skip
    assert not run.ended and len(run) == 4
    assert {name: array.shape for name, array in run.model.items()} == {"b": (3,), "w": (2, 3)}
    in_memory = ff.simulate(Two(), fleet=fleet, plan="full", seed=1, rounds_max=4, progress=False)
    assert_same_tensors(run.model, in_memory.model)
    assert np.all(run.model["b"] == 2 * run.model["w"][0])


def test_folders_without_a_run_are_refused(desk: Path, tmp_path: Path) -> None:
    def refused(folder: Any) -> ff.InputError:
        with pytest.raises(ff.InputError) as caught:
            ff.open(folder)
        assert caught.value.where == "folder"
        return caught.value

    assert refused(tmp_path / "none").problem == f"{tmp_path / 'none'} does not exist"
    error = refused(desk)
    assert (
        error.value == str(desk) and error.problem == f"{desk} holds 2 runs, and is not a run folder itself"
    )
    assert error.remedy == "open one of the runs in it: auto, lossy"
    assert "there is no records.jsonl in it" in refused(tmp_path).problem
    assert refused(desk / "auto" / "run.toml").remedy == f"name the folder of the run: {desk / 'auto'}"
    assert refused(3).value == 3


def test_a_comparison_names_its_runs(tmp_path: Path) -> None:
    ff.compare(ff.Scenario("synthetic", devices=5), schemes=["auto", "full"], seeds=1, pilots=False, rounds_max=2,
               out=tmp_path / "c", progress=False)  # fmt: skip
    with pytest.raises(ff.InputError) as caught:
        ff.open(tmp_path / "c")
    assert caught.value.remedy == "open one of the runs in it: runs/auto-seed1, runs/full-seed1"


@pytest.mark.parametrize(
    ("damage", "problem", "remedy"),
    [
        (
            lambda text: text.replace('"round":2,', '"round":4,', 1),
            "line 4: round 4 after round 1",
            "restore the file",
        ),
        (
            lambda text: text.replace('"version":3', '"version":9', 1),
            "version 9",
            "read it with the fedflip that wrote it",
        ),
        (lambda text: "nonsense\n" + text, "line 1", "restore the file"),
        (lambda text: "", "there is no whole line yet", "open the run when it has begun"),
    ],
)
def test_damaged_records_are_refused(
    desk: Path, tmp_path: Path, damage: Any, problem: str, remedy: str
) -> None:
    shutil.copytree(desk / "auto", tmp_path / "run")
    records = tmp_path / "run" / "records.jsonl"
    records.write_text(damage(records.read_text()))
    with pytest.raises(ff.FedflipError) as caught:
        ff.open(tmp_path / "run")
    assert (
        problem in caught.value.problem
        and remedy in caught.value.remedy
        and "records.jsonl" in caught.value.problem
    )


def test_what_is_missing_is_said_when_it_is_asked_for(desk: Path, tmp_path: Path) -> None:
    shutil.copytree(desk / "lossy", tmp_path / "run")
    for name in ("fleet.csv", "run.toml", "model.safetensors", "best.safetensors"):
        (tmp_path / "run" / name).unlink()
    (tmp_path / "run" / "plan.csv").write_text("device,q,weight\na,2,1\n")
    run = ff.open(tmp_path / "run")
    assert len(run.rounds) == len(run) + 1 and "name" not in run.participants
    assert run.best_model is None and run.times(1).columns == ff.open(desk / "lossy").times(1).columns
    for part, problem in {
        "fleet": "fleet.csv cannot be read",
        "scenario": "run.toml cannot be read",
        "model": "there is no model",
        "q": 'plan.csv: line 2: "2" is no probability',
    }.items():
        with pytest.raises(ff.FedflipError) as caught:
            getattr(run, part)
        assert problem in caught.value.problem and caught.value.remedy
    again = pickle.loads(pickle.dumps(run))
    assert len(again) == len(run)
    with pytest.raises(ff.FedflipError, match="there is no model"):
        _ = again.model
    (tmp_path / "run" / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0damaged!")
    with pytest.raises(ff.FedflipError, match=r"model\.safetensors"):
        _ = ff.open(tmp_path / "run").model


@pytest.mark.deployed
def test_a_deployed_run_opens_while_it_is_interrupted_and_at_its_end(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "s.toml").write_text(SCENARIO.replace("devices = 20", "devices = 3"))
    package = str(Path(ff.__file__).resolve().parents[1])

    def start(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "fedflip", *words],
            env={**os.environ, "PYTHONPATH": package},
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def serve(cap: int) -> subprocess.Popen[bytes]:
        rounds = ["--set", f"stop.rounds_max={cap}", "--scheme", "fixed=0.7", "--window-secs", "2"]
        return start("serve", "s.toml", "--out", "run", "--insecure", "--listen", address, *rounds)

    agents = [
        start("join", address, "--insecure", "--name", f"phone-{n}", "--give-up-secs", "30") for n in range(3)
    ]
    try:
        server = serve(100_000)
        for _ in range(400):
            time.sleep(0.05)
            records = tmp_path / "run" / "records.jsonl"
            if records.exists() and len(records.read_bytes().splitlines()) > 12:
                break
        server.send_signal(signal.SIGKILL)
        server.wait()
        run = ff.open(tmp_path / "run")
        assert not run.ended and len(run) >= 10 and run.header["deployed"] is not None
        assert "of real time" in repr(run)
        # The kill may leave a file that was not renamed yet, with an ending of its own.
        models = [int(path.stem) for path in (tmp_path / "run/models").glob("*.safetensors")]
        committed = max(number for number in models if number <= len(run))
        by_hand = tensors_by_hand(tmp_path / f"run/models/{committed:08}.safetensors")
        result = {
            name.removeprefix("average/"): array
            for name, array in by_hand.items()
            if name.startswith("average/")
        }
        assert_same_tensors(run.model, result)
        assert sorted(run.fleet.names) == ["phone-0", "phone-1", "phone-2"] and run.q.tolist() == [0.7] * 3
        server = serve(len(run) + 3)
        assert server.wait(timeout=60) == 0
        ended = ff.open(tmp_path / "run")
        assert (
            ended.ended
            and ended.end is not None
            and ended.end.reason == "rounds_max"
            and len(ended) >= len(run)
        )
        assert_same_tensors(ended.model, tensors_by_hand(tmp_path / "run" / "model.safetensors"))
    finally:
        for process in (server, *agents):
            process.kill()
            process.wait()
