"""Without Flower, the package says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fedflip as ff


def test_importing_without_flower_says_what_to_install() -> None:
    package = str(Path(ff.__file__).resolve().parents[1])
    code = "import sys; sys.modules['flwr'] = None; import fedflip.flower"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "ImportError: fedflip.flower needs Flower" in done.stderr
    assert "pip install flwr" in done.stderr
