"""What tests of fleets, plans and tasks share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fedflip as ff
import pytest

# A job in the background of a shell ignores Ctrl-C, and so do all programs that it starts. Tests send it to programs.
signal.signal(signal.SIGINT, signal.default_int_handler)

CommandLine = Callable[..., str]


def run_command(*words: str, cwd: Path | None = None) -> str:
    """What a command prints. It runs in a process of its own, by the same extension module."""
    package = str(Path(ff.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", "fedflip", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def command() -> CommandLine:
    """Runs a command of the command line and returns what it prints."""
    return run_command


@pytest.fixture(scope="session")
def paper_fleet() -> ff.Fleet:
    """The paper's fleet of 100 devices."""
    return ff.Fleet.paper(100, seed=7)


@pytest.fixture(scope="session")
def paper_file(paper_fleet: ff.Fleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same fleet as a CSV file."""
    path = tmp_path_factory.mktemp("fleet") / "fleet.csv"
    paper_fleet.to_csv(path)
    return path


@pytest.fixture(scope="session")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of a few rounds on synthetic data."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "s.toml").write_text('seed = 11\n[task]\nname = "synthetic"\n[plan]\nvariance = 0.3\n')
    run_command("run", "s.toml", "--out", "run", "--set", "stop.rounds_max=30", "--quiet", cwd=folder)
    return folder / "run"


@pytest.fixture(scope="session")
def mnist() -> None:
    """Skips without MNIST; but CI fetches MNIST into a folder that it names, and there it must not be missing."""
    if ff.datasets.available()["mnist"].present:
        return
    if os.environ.get("CI") and os.environ.get("FEDFLIP_DATA"):
        pytest.fail("MNIST is not in the folder FEDFLIP_DATA: run `fedflip data get mnist` before the tests")
    pytest.skip("the files of MNIST are not here: `fedflip data get mnist`, or set FEDFLIP_DATA")
