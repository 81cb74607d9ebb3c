"""The driver folds updates as they come: its memory does not grow with the cohort."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import fedflip as ff
import pytest
from cluster_learners import Large

ray = pytest.importorskip("ray")

#: 512 MB of updates ahead of their turn, 64 updates that change places, two models and Python itself.
LIMIT_BYTES = 1_500_000_000


def own_bytes() -> int:
    """The memory of this process that it shares with nobody."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])


def test_a_cohort_of_a_thousand_large_updates_does_not_fill_the_memory() -> None:
    """12.8 GB of updates, of which the first one comes last."""
    before, most, over = own_bytes(), [0], threading.Event()

    def watch() -> None:
        while not over.is_set():
            most[0] = max(most[0], own_bytes())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2_000_000_000
    )
    try:
        run = ff.simulate(
            Large(),
            plan="full",
            rounds_max=1,
            seed=1,
            crew=ff.RayCrew(2),
            record={"evaluate_every": 1},
            progress=False,
        )
    finally:
        ray.shutdown()
        over.set()
        watcher.join()
    assert len(run) == 1
    # Every device weighs as its samples do, and all updates are in the sum.
    samples = [10 + device for device in range(1000)]
    expected = sum(count * (device + 1) / 1000 for device, count in enumerate(samples)) / sum(samples)
    model = next(iter(run.model.values()))
    assert abs(float(model.ravel()[0]) - expected) < 1e-4
    assert most[0] - before < LIMIT_BYTES, f"{(most[0] - before) / 1e9:.2f} GB"
    print(f"\nat most {(most[0] - before) / 1e9:.2f} GB beside {before / 1e9:.2f} GB")
