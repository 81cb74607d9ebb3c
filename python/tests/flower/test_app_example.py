"""The app in examples/flower, in short form on the virtual clock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fedflip as ff
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

VIRTUAL = Path(__file__).resolve().parents[3] / "examples/flower/virtual.py"


def test_the_app_learns_and_resumes(tmp_path: Path, mnist: None) -> None:
    package = str(Path(ff.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    for rounds in (2, 4):
        done = subprocess.run(
            [sys.executable, "-B", str(VIRTUAL), "--out", "run", "--rounds", str(rounds)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr
        accuracy, secs = done.stdout.splitlines()
        assert accuracy.endswith(f"after {rounds} rounds") and float(accuracy.split()[1]) > 0.3
        assert secs.endswith("seconds of virtual time") and float(secs.split()[0]) > 0
        assert ff.open(tmp_path / "run").rounds["round"][-1] == rounds
