"""What the Python package costs: rounds through a learner that does nothing, torch updates, plans from a DataFrame.

``cargo xtask bench-python`` builds a release wheel and runs this program. The bare PyTorch loop is that of
``cargo xtask bench-peers``, timed in turn with ours. Prints a table, or JSON with ``--json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import fedflip as ff
import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
PEER = REPOSITORY / "crates/lab/peers/torch_peer.py"
MODELS = ["mnist-cnn", "mnist-cnn-wide", "cifar10-mobilenet", "shakespeare-lstm"]
#: As in the bare loop: ten steps of SGD on batches of 32.
BATCH, STEPS, DEVICES = 32, 10, 20


class Idle:
    """A learner that does nothing."""

    devices = 100
    metrics = {"loss": "min"}

    def __init__(self, size: int) -> None:
        self.size = size
        self.update = np.zeros(size, np.float32)

    def samples(self, device: int) -> int:
        return 100

    def initial(self, seed: int) -> Any:
        return np.zeros(self.size, np.float32)

    def train(self, model: Any, key: ff.TrainKey) -> tuple[Any, float]:
        return self.update, 1.0

    def evaluate(self, model: Any) -> dict[str, float]:
        return {"loss": 1.0}


def idle_rounds_per_sec(rounds: int) -> float:
    """Rounds through a learner that does nothing, with cohorts of 10 and 21,840 parameters."""
    start = time.perf_counter()
    ff.simulate(
        Idle(21_840),
        plan="fedavg-unbiased=10",
        rounds_max=rounds,
        evaluate_every=rounds,
        seed=1,
        progress=False,
    )
    return rounds / (time.perf_counter() - start)


def torch_models() -> dict[str, Any]:
    """The models of the bare loop."""
    sys.path.insert(0, str(REPOSITORY / "crates/learn/tests/golden"))
    sys.dont_write_bytecode = True
    from torch_models import MODELS as models  # type: ignore[import-not-found]

    return dict(models)


class Make:
    """Makes a model of the bare loop, in any process."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> Any:
        return torch_models()[self.name].make()


def learner_of(name: str) -> ff.TorchLearner:
    """A learner that does the work of the bare loop."""
    import torch
    from torch.nn import functional
    from torch.utils.data import TensorDataset

    features = torch_models()[name].features
    inputs = (torch.arange(BATCH * features) % 7).float().view(BATCH, features)
    data = TensorDataset(inputs, torch.arange(BATCH) % 10)
    return ff.TorchLearner(
        Make(name), [data] * DEVICES, functional.cross_entropy, steps=STEPS, batch=BATCH, lr=1e-4,
        evaluate=nothing, metrics={"loss": "min"},
    )  # fmt: skip


def nothing(module: Any) -> dict[str, float]:
    """An evaluation that costs nothing."""
    return {"loss": 1.0}


class Clock:
    """Counts updates from the second round on, when workers have started and loaded their data."""

    def __init__(self, secs: float) -> None:
        self.secs, self.start, self.updates, self.now = secs, 0.0, 0, 0.0

    def __call__(self, record: ff.RoundRecord) -> bool:
        self.now = time.perf_counter()
        if self.start == 0.0:
            self.start = self.now
        else:
            self.updates += len(record.cohort)
        return self.updates > 0 and self.now - self.start >= self.secs

    @property
    def rate(self) -> float:
        return self.updates / (self.now - self.start)


def ours_per_sec(name: str, processes: int, secs: float) -> float:
    """Client updates per second of a ``TorchLearner`` in worker processes."""
    clock = Clock(secs)
    ff.simulate(
        learner_of(name), plan="full", workers="process", threads=processes, callbacks=[clock], rounds_max=10**6,
        evaluate_every=10**6, seed=1, progress=False,
    )  # fmt: skip
    return clock.rate


def bare_per_sec(name: str, processes: int, secs: float) -> float:
    """Client updates per second of the bare PyTorch loop."""
    command = [sys.executable, str(PEER), "--model", name, "--processes", str(processes), "--secs", str(secs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(printed)["client_updates_per_sec"])


def plan_secs(devices: int) -> float:
    """The time from a DataFrame to the plan of a fleet."""
    import pandas as pd

    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "compute_secs": random.uniform(0.5, 5.0, devices),
            "comm_secs": random.uniform(1.0, 10.0, devices),
            "samples": random.integers(10, 1000, devices).astype(np.float64),
        }
    )
    start = time.perf_counter()
    plan = ff.plan(ff.Fleet(frame), bandwidth_mbps=100)
    secs = time.perf_counter() - start
    assert len(plan.q) == devices
    return secs


def main() -> None:
    """Measures everything in turn, and prints medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="check that it works, not how fast it is")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--model", action="append", choices=MODELS, help="time only this model")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    secs, repetitions, rounds = (0.2, 1, 200) if options.quick else (5.0, 5, 20_000)
    devices = 10_000 if options.quick else 1_000_000
    result: dict[str, Any] = {
        "idle_rounds_per_sec": median(idle_rounds_per_sec(rounds) for _ in range(repetitions)),
        "plan_devices": devices,
        "plan_secs": median(plan_secs(devices) for _ in range(repetitions)),
        "torch": {},
    }
    models = options.model or (MODELS[:1] if options.quick else MODELS)
    ours: dict[str, list[float]] = {name: [] for name in models}
    bare: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repetitions):
        for name in models:
            ours[name].append(ours_per_sec(name, options.processes, secs))
            bare[name].append(bare_per_sec(name, options.processes, secs))
    for name in models:
        ratio = median(one / other for one, other in zip(ours[name], bare[name], strict=True))
        result["torch"][name] = {"ours": median(ours[name]), "bare": median(bare[name]), "ratio": ratio}
    if options.json:
        print(json.dumps(result))
        return
    print(f"rounds/s through a learner that does nothing: {result['idle_rounds_per_sec']:,.0f}")
    print(f"a plan for {devices:,} devices from a DataFrame: {result['plan_secs']:.3f} s")
    for name, row in result["torch"].items():
        print(
            f"{name}: {row['ours']:.1f} client updates/s, bare loop {row['bare']:.1f}, ratio {row['ratio']:.3f}"
        )


if __name__ == "__main__":
    main()
