"""The command line through the package: ``fedflip`` and ``python -m fedflip`` behave as the Rust program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fedflip
import pytest

Command = list[str]
SCRIPT = Path(sys.executable).with_name("fedflip")
MODULE = [sys.executable, "-m", "fedflip"]
# A target that is never reached.
ENDLESS = ["--set", "stop.at=1", "--set", "stop.rounds_max=100000000", "--quiet"]


@pytest.fixture(params=["script", "module"])
def command(request: pytest.FixtureRequest) -> Command:
    if request.param == "module":
        return MODULE
    if not SCRIPT.is_file():
        pytest.skip("the package is not installed beside this Python")
    return [str(SCRIPT)]


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text('[task]\nname = "synthetic"\n[fleet]\ndevices = 10\n')
    return path


def run(command: Command, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=60)


def start(command: Command, *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(path: Path, process: subprocess.Popen[str], *, size: int = 1) -> None:
    until = time.monotonic() + 60
    while not (path.is_file() and path.stat().st_size >= size):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, f"{path} was not written"
        time.sleep(0.02)


def test_the_version_is_that_of_the_package(command: Command) -> None:
    told = run(command, "--version")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"fedflip {fedflip.__version__}\n", "")


def test_the_program_has_one_name(command: Command) -> None:
    told = run(command, "plan", "--help")
    assert told.returncode == 0
    assert "Usage: fedflip plan" in told.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nonsense"], "unrecognized subcommand 'nonsense'"),
        (["plan", "missing.csv", "--bandwidth", "100"], "missing.csv"),
        (["run", "missing.toml"], "missing.toml"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2_and_no_traceback(
    command: Command, words: list[str], says: str
) -> None:
    told = run(command, *words)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr
    assert "Traceback" not in told.stderr


def test_arguments_need_not_be_utf8(command: Command) -> None:
    told = subprocess.run(
        [*map(os.fsencode, command), b"run", b"no\xff.toml"], capture_output=True, timeout=60
    )
    assert told.returncode == 2
    assert b"Traceback" not in told.stderr and b".toml" in told.stderr


def test_a_plan_from_standard_input_is_the_plan_from_a_file(command: Command, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.csv"
    fleet.write_text(run(command, "fleet", "new", "--devices", "20").stdout)
    from_file = run(command, "plan", fleet, "--bandwidth", "100", "--json")
    with fleet.open() as stdin:
        words = [*command, "plan", "-", "--bandwidth", "100", "--json"]
        from_pipe = subprocess.run(words, stdin=stdin, capture_output=True, text=True, timeout=60)
    plan, piped = json.loads(from_file.stdout), json.loads(from_pipe.stdout)
    for one in (plan, piped):
        del one["solve_secs"]
    assert plan == piped
    assert plan["devices"] == len(plan["q"]) == 20


def test_no_output_is_lost_on_the_way_to_a_pipe(command: Command) -> None:
    told = run(command, "fleet", "new", "--devices", "100000")
    assert told.returncode == 0
    assert told.stdout.count("\n") == 100_001
    assert told.stdout.endswith("\n")


def test_a_reader_that_has_seen_enough_is_no_error(command: Command) -> None:
    process = start(command, "fleet", "new", "--devices", "100000")
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert "," in first
    assert process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_output_that_cannot_be_written_is_an_error(command: Command) -> None:
    with open("/dev/full", "w") as full:
        words = [*command, "fleet", "new", "--devices", "1000"]
        told = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert told.returncode == 1
    assert "Traceback" not in told.stderr and told.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_resumes_to_the_same_bytes(
    command: Command, scenario: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    process = start(command, "run", scenario, "--out", out, *ENDLESS)
    wait_for(out / "records.jsonl", process, size=20_000)
    process.send_signal(how)
    told, problem = process.communicate(timeout=30)
    assert process.returncode == 4, problem
    assert "--resume" in told
    rounds = (out / "records.jsonl").read_text().count('"round"') + 50
    until = ["--set", "stop.at=1", "--set", f"stop.rounds_max={rounds}", "--quiet"]
    assert run(command, "run", scenario, "--out", out, "--resume", *until).returncode == 0
    assert run(command, "run", scenario, "--out", whole, *until).returncode == 0
    for name in ["model.safetensors", "best.safetensors"]:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    # The first line says what was asked for, which differs in the cap on rounds.
    parts = [(folder / "records.jsonl").read_text().splitlines()[1:] for folder in (out, whole)]
    assert parts[0] == parts[1]


def test_a_second_ctrl_c_ends_the_process_at_once(command: Command, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    long_rounds = ["--set", "train.iterations=1000000", "--set", "task.hidden=100", "--threads", "1"]
    process = start(command, "run", scenario, "--out", out, *ENDLESS, *long_rounds)
    wait_for(out / "records.jsonl", process)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "the round should take longer than this test"
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, problem = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - asked < 5
    assert "Traceback" not in problem


@pytest.mark.deployed
def test_a_demo_starts_its_server_and_devices_through_the_package(command: Command, tmp_path: Path) -> None:
    if command != MODULE:
        # A file of the folder must not come before the installed package.
        (tmp_path / "fedflip.py").write_text("raise SystemExit('this is not the package')\n")
    told = run(command, "demo", "--devices", "2", "--target", "0.3", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["status"] == "reached"
