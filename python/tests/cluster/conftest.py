"""What tests of clusters share. They need Ray, mpi4py or Dask, and skip themselves where one is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# One thread for each worker, no messages to others, and no dashboard.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_DEDUP_LOGS", "0")

#: A task with enough work per round that a worker can die in the middle of one.
SCENARIO = {"rounds_max": 6, "seed": 3, "scheme": "full", "devices": 24}


@pytest.fixture(autouse=True)
def _worker_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import fedflip and the learners of these tests from where this process does."""
    import fedflip

    places = [str(Path(fedflip.__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
    present = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*places, *([present] if present else [])]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder have the marker ``cluster``."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)
