"""How long a million devices take from a DataFrame to a plan: ``python bench_plan.py [DEVICES]``.

Prints the best of three in seconds on the clock, and in seconds of the processor, which a busy machine changes less.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import fedflip as ff
import numpy as np


def best_secs(work: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of three calls, on the clock and of the processor."""
    found = []
    for _ in range(3):
        clock, processor = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - clock, time.process_time() - processor))
    return min(secs for secs, _ in found), min(secs for _, secs in found)


def main() -> None:
    """Measures each step alone, and the whole way."""
    devices = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(1)
    columns = {
        "compute_secs": rng.gamma(2, 1, devices) + 0.01,
        "comm_secs": rng.gamma(2, 0.5, devices) + 0.01,
        "samples": rng.integers(1, 1000, devices).astype(np.float64),
    }
    frame = importlib.import_module("pandas").DataFrame(columns)
    fleet = ff.Fleet(frame)
    plan = ff.plan(fleet, bandwidth_mbps=1000)
    plan.sample(round=1, seed=1)
    steps: dict[str, Callable[[], Any]] = {
        "copy of three columns": lambda: [column.copy() for column in columns.values()],
        "Fleet(frame)": lambda: ff.Fleet(frame),
        "plan(fleet), auto": lambda: ff.plan(fleet, bandwidth_mbps=1000),
        "plan(fleet), exact": lambda: ff.plan(fleet, bandwidth_mbps=1000, alpha=28.474, beta=2.2043),
        "plan(frame), auto": lambda: ff.plan(frame, bandwidth_mbps=1000),
        "plan(frame).round_secs": lambda: ff.plan(frame, bandwidth_mbps=1000).round_secs,
        "plan.q": lambda: plan.q,
        "plan.sample": lambda: plan.sample(round=2, seed=1),
    }
    print(f"{devices} devices{'clock':>28}{'processor':>14}")
    for name, work in steps.items():
        clock, processor = best_secs(work)
        print(f"{name:<32}{clock:>10.4f} s{processor:>12.4f} s")


if __name__ == "__main__":
    main()
