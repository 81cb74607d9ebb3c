"""What the Python package costs: rounds through a learner that does nothing, torch updates, plans from a DataFrame.

``cargo xtask bench-python`` builds a release wheel and runs this program. The bare PyTorch loop is that of
``cargo xtask bench-peers``, timed in turn with ours. Prints a table, or JSON with ``--json``; ``--check`` fails below the
speed that docs/reference/python.md promises.
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
#: What docs/reference/python.md promises on two cores.
IDLE_ROUNDS_PER_SEC_MIN, TORCH_RATIO_MIN, PLAN_SECS_MAX = 5_000.0, 0.95, 1.0


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


def plan_secs(devices: int) -> dict[str, float]:
    """The time from a DataFrame to the plan of a fleet, and that of its parts."""
    import pandas as pd

    random = np.random.default_rng(1)
    columns = {
        "compute_secs": random.uniform(0.5, 5.0, devices),
        "comm_secs": random.uniform(1.0, 10.0, devices),
        "samples": random.integers(10, 1000, devices).astype(np.float64),
    }
    frame = pd.DataFrame(columns)
    moments = [time.perf_counter()]
    copies = [column.copy() for column in columns.values()]
    moments.append(time.perf_counter())
    fleet = ff.Fleet(frame)
    moments.append(time.perf_counter())
    plan = ff.plan(fleet, bandwidth_mbps=100)
    moments.append(time.perf_counter())
    assert len(copies) == 3 and len(plan.q) == devices
    copy, made, planned = np.diff(moments).tolist()
    return {"copy": copy, "fleet": made, "plan": planned, "whole": made + planned}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measures everything in turn: medians."""
    secs, repetitions, rounds = (0.2, 1, 200) if options.quick else (5.0, 5, 20_000)
    devices = 10_000 if options.quick else 1_000_000
    idle = median(idle_rounds_per_sec(rounds) for _ in range(repetitions))
    plans = [plan_secs(devices) for _ in range(repetitions)]
    models = options.model or (MODELS[:1] if options.quick else MODELS)
    ours: dict[str, list[float]] = {name: [] for name in models}
    bare: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repetitions):
        for name in models:
            ours[name].append(ours_per_sec(name, options.processes, secs))
            bare[name].append(bare_per_sec(name, options.processes, secs))
    torch = {}
    for name in models:
        ratio = median(one / other for one, other in zip(ours[name], bare[name], strict=True))
        torch[name] = {"ours": median(ours[name]), "bare": median(bare[name]), "ratio": ratio}
    return {
        "idle_rounds_per_sec": idle,
        "plan_devices": devices,
        "plan_secs": {part: median(plan[part] for plan in plans) for part in plans[0]},
        "torch": torch,
    }


def shortfalls(result: dict[str, Any]) -> list[str]:
    """The promises that were not kept."""
    missed = []
    if result["idle_rounds_per_sec"] < IDLE_ROUNDS_PER_SEC_MIN:
        missed.append(f"fewer than {IDLE_ROUNDS_PER_SEC_MIN:,.0f} rounds/s through an idle learner")
    if result["plan_secs"]["whole"] > PLAN_SECS_MAX:
        missed.append(f"a plan takes longer than {PLAN_SECS_MAX} s")
    for name, row in result["torch"].items():
        if row["ratio"] < TORCH_RATIO_MIN:
            missed.append(f"{name} has less than {TORCH_RATIO_MIN} times the updates/s of the bare loop")
    return missed


def show(result: dict[str, Any]) -> None:
    """Prints a table."""
    plan = result["plan_secs"]
    print(f"rounds/s through a learner that does nothing: {result['idle_rounds_per_sec']:,.0f}")
    print(
        f"{result['plan_devices']:,} devices from a DataFrame to a plan: {plan['whole']:.3f} s "
        f"(fleet {plan['fleet']:.3f} s, of which a copy of its columns takes {plan['copy']:.3f} s)"
    )
    for name, row in result["torch"].items():
        print(
            f"{name}: {row['ours']:.1f} client updates/s, bare loop {row['bare']:.1f}, ratio {row['ratio']:.3f}"
        )


def main() -> int:
    """Measures, prints, and checks what was promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="check that it works, not how fast it is")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--check", action="store_true", help="fail below the promised speed")
    parser.add_argument("--model", action="append", choices=MODELS, help="time only this model")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    result = measure(options)
    if options.json:
        print(json.dumps(result))
    else:
        show(result)
    missed = shortfalls(result) if options.check else []
    for promise in missed:
        print(f"not kept: {promise}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
