"""The worker processes of a VirtualGrid: how they start, and what they do not share with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

from fedflip.flower._workers import Workers

HERE = Path(__file__).parent

_SCRIPT = """
import fedflip as ff
import flower_apps as apps
from fedflip.flower import VirtualGrid
from flwr.serverapp.strategy import FedAvg

results = []
grid = VirtualGrid(apps.app, ff.Fleet.paper(4, seed=1), bandwidth_mbps=10, workers=2)
grid.run(apps.server_of(FedAvg(fraction_evaluate=0.0), results, 2))
print(apps.digest(results[0].arrays))
"""


def test_clients_train_where_standard_input_is_closed(tmp_path: Path) -> None:
    """The first descriptors that such a process opens have the numbers of the standard streams."""
    (tmp_path / "script.py").write_text(_SCRIPT)
    package = str(Path(ff.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, str(HERE), *sys.path])}
    shown = []
    for stream in ("", " <&-"):
        words = f"exec {sys.executable} {tmp_path / 'script.py'}{stream}"
        done = subprocess.run(
            ["sh", "-c", words], capture_output=True, text=True, timeout=120, env=environment
        )
        assert done.returncode == 0, done.stderr[-3000:]
        shown.append(done.stdout)
    assert shown[0] == shown[1] and len(shown[0]) == 65


def test_ctrl_c_cannot_hit_a_worker_before_it_ignores_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker inherits the blocked signals of the thread that starts it."""
    blocked: list[set[signal.Signals]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: Any, **more: Any) -> None:
            blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, set()))
            super().__init__(*words, **more)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    workers = Workers("flower_apps:app", 1)
    try:
        workers.run([(None, None, None)])
    finally:
        workers.close()
    assert len(blocked) == 1 and signal.SIGINT in blocked[0]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
