"""What a cluster costs: the parts of a round, the prediction for many workers, and the speed beside threads.

    python python/benchmarks/cluster.py                        # measures the parts, predicts 1,000 workers
    python python/benchmarks/cluster.py --workers 4000 --gbps 100 --train-secs 3
    python python/benchmarks/cluster.py --speed --data-dir DIR  # two Ray workers beside two threads and two processes
    python python/benchmarks/cluster.py --check                # both; fails if Ray is slow or the prediction is wrong

Needs Ray; ``--speed`` and ``--check`` also need PyTorch and the data set cifar10. Numbers of a machine with other work mean little.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import fedflip as ff
import numpy as np
from fedflip._crew import Trained

#: That of cifar10-mobilenet.
PARAMETERS = 3_200_000
MB = 1e6
#: The least speed of two Ray workers, as a multiple of that of two threads.
SPEED_LEAST = 0.9
#: The largest ratio of a measured and a predicted round, in either direction.
OFF_MOST = 1.5


class Constant:
    """Updates that cost nothing to compute."""

    metrics = {"loss": "min"}

    def __init__(self, devices: int, size: int) -> None:
        self.devices, self.size = devices, size

    def samples(self, device: int) -> int:
        return 1

    def initial(self, seed: int) -> Any:
        return np.zeros(self.size, np.float32)

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        return np.full(self.size, np.float32(0.001), np.float32), 1.0

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {"loss": (1.0, 1.0)}


class Ready:
    """A crew whose updates are there already: what is left is the work of the driver."""

    def open(self, work: Any) -> None:
        self._update = np.full(work.size, np.float32(0.001), np.float32)
        self._keys: list[Any] = []

    def train(self, model: Any, keys: Sequence[Any]) -> None:
        self._keys.extend(keys)

    def next(self) -> Trained:
        return Trained(self._keys.pop(0).device, self._update, 1.0)

    def losses(self, model: Any, devices: Sequence[int]) -> list[float]:
        return [1.0 for _ in devices]

    def evaluate(self, model: Any) -> dict[str, tuple[float, float]]:
        return {"loss": (1.0, 1.0)}

    def close(self) -> None: ...


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def round_secs(*, rounds: int, **arguments: Any) -> float:
    """The median time of a round after the first one, which may warm up."""
    ends: list[float] = []

    def seen(record: Any) -> None:
        ends.append(time.perf_counter())

    work = arguments.pop("work")
    ff.simulate(work, rounds_max=rounds, callbacks=[seen], progress=False, **arguments)
    return statistics.median(after - before for before, after in itertools.pairwise(ends))


def parts(cohort: int, rounds: int) -> dict[str, float]:
    """The parts of a round, each measured by itself: seconds for each MB of a model, and for each update."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        model, megabytes = np.zeros(PARAMETERS, np.float32), 4 * PARAMETERS / MB
        put = statistics.median(timed(lambda: ray.put(model)) for _ in range(9)) / megabytes
        stored, received = worker_and_receive_secs(ray)
        learner = Constant(cohort, PARAMETERS)
        common: dict[str, Any] = {"work": learner, "plan": "full", "seed": 1, "rounds": rounds}
        # The driver alone: updates that cost nothing are copied, checked and added up.
        driver = round_secs(crew=Ready(), **common) / cohort
        whole = round_secs(crew=ff.RayCrew(2), **common)
    finally:
        ray.shutdown()
    return {
        "broadcast_secs_per_mb": put,
        "store_secs_per_update": stored,
        "receive_secs_per_update": received,
        "sum_secs_per_update": driver,
        "round_secs_of_two_workers": whole,
    }


def worker_and_receive_secs(ray: Any) -> tuple[float, float]:
    """What a worker takes to make and store an update, and what the driver takes to get one more than a copy of it."""
    update = np.full(PARAMETERS, np.float32(0.001), np.float32)
    actor = ray.remote(Constant).remote(1, PARAMETERS)
    ray.get(actor.samples.remote(0))
    count, here = 16, np.empty_like(update)
    begun = time.perf_counter()
    made = [actor.train.options(num_returns=2).remote(None, None)[0] for _ in range(count)]
    ray.wait(made, num_returns=count, fetch_local=False)
    stored = (time.perf_counter() - begun) / count
    copied = statistics.median(timed(lambda: np.copyto(here, update)) for _ in range(count))
    received = statistics.median(timed(lambda one=one: np.copyto(here, ray.get(one))) for one in made)
    return stored, max(0.0, received - copied)


def predicted(
    measured: dict[str, float], asked: argparse.Namespace, workers: int, cohort: int, machines: int
) -> dict[str, float]:
    """The time of a round: broadcast, then trainings, while the driver receives and adds up one update after the other."""
    megabytes = 4 * PARAMETERS / MB
    wire_secs = megabytes * 8 / 1000 / asked.gbps
    # Machines pass the model on to each other, so that each step doubles their number.
    hops = math.ceil(math.log2(machines)) if machines > 1 else 0
    broadcast = measured["broadcast_secs_per_mb"] * megabytes + hops * wire_secs
    train = math.ceil(cohort / workers) * (asked.train_secs + measured["store_secs_per_update"])
    each = max(measured["receive_secs_per_update"], wire_secs if machines > 1 else 0.0)
    driver = cohort * (each + measured["sum_secs_per_update"])
    if machines == 1:
        # Driver and workers share the processors of this machine.
        busy = (
            measured["store_secs_per_update"]
            + measured["receive_secs_per_update"]
            + measured["sum_secs_per_update"]
        )
        driver = max(driver, cohort * busy / len(os.sched_getaffinity(0)))
    return {"broadcast": broadcast, "train": train, "driver": driver, "round": broadcast + max(train, driver)}


def show_parts(asked: argparse.Namespace) -> dict[str, Any]:
    cohort = 20 if asked.quick else 100
    measured = parts(cohort, 2 if asked.quick else 4)
    small = argparse.Namespace(gbps=asked.gbps, train_secs=0.0)
    check = predicted(measured, small, 2, cohort, 1)
    large = predicted(measured, asked, asked.workers, asked.cohort, max(1, asked.workers // asked.cores))
    print(f"one update: {4 * PARAMETERS / MB:.1f} MB, {PARAMETERS:,} parameters\n")
    for name, value in measured.items():
        print(f"  {name.replace('_', ' '):28} {1000 * value:10.2f} ms")
    ratio = measured["round_secs_of_two_workers"] / check["round"]
    print(
        f"\ncheck: a round of {cohort} updates with 2 workers on this machine\n"
        f"  predicted {check['round']:.2f} s, measured {measured['round_secs_of_two_workers']:.2f} s: {ratio:.2f} times\n"
        f"\n{asked.workers:,} workers on {max(1, asked.workers // asked.cores):,} machines, a cohort of {asked.cohort:,}, "
        f"{asked.gbps:g} Gbit/s, {asked.train_secs:g} s a training"
    )
    for name, value in large.items():
        print(f"  {name:10} {value:8.2f} s")
    bound = "the driver" if large["driver"] > large["train"] else "training"
    print(f"  {bound} decides; the updates of a round are {4 * PARAMETERS * asked.cohort / 1e9:.1f} GB")
    return {"measured": measured, "check": check, "predicted": large}


def torch_learner() -> ff.TorchLearner:
    import torch
    from torch import nn
    from torch.utils.data import TensorDataset

    torch.manual_seed(0)
    data = [TensorDataset(torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,))) for _ in range(16)]

    def make() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(1, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(512, 10),
        )

    return ff.TorchLearner(make, data, nn.functional.cross_entropy, test=data[0], batch=32, steps=40, lr=0.01)


def torch_threads_secs(count: int, **arguments: Any) -> float:
    """The time of a round with ``count`` threads of PyTorch, one training after the other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return round_secs(**arguments)
    finally:
        torch.set_num_threads(before)


def speed(asked: argparse.Namespace) -> dict[str, Any]:
    """Two Ray workers beside two threads on native kernels and on PyTorch, and beside two processes; interleaved."""
    import ray

    repeats, rounds = (1, 2) if asked.quick else (asked.repeats, 3)
    task = {
        "devices": 20,
        "scheme": "fixed=0.4",
        "seed": 2,
        "train": {"iterations": 4},
        "test_samples_max": 500,
    }
    native: dict[str, Any] = {"work": ff.Scenario("cifar10-mobilenet", **task), "data_dir": asked.data_dir}
    of_torch: dict[str, Any] = {"work": torch_learner(), "plan": "full", "seed": 2}
    for case in (native, of_torch):
        case["rounds"] = rounds

    def on_ray(case: dict[str, Any]) -> float:
        return round_secs(crew=ff.RayCrew(2), threads=2, **case)

    # For each work what it is compared with, and Ray.
    cases: dict[str, dict[str, Callable[[], float]]] = {
        "cifar10-mobilenet": {
            "two threads": lambda: round_secs(threads=2, **native),
            "Ray": lambda: on_ray(native),
        },
        "TorchLearner": {
            "two threads": lambda: torch_threads_secs(2, **of_torch),
            "two processes": lambda: round_secs(workers="process", threads=2, **of_torch),
            "Ray": lambda: on_ray(of_torch),
        },
    }
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    found: dict[str, Any] = {}
    try:
        for name, ways in cases.items():
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(repeats):
                for way, measure in ways.items():
                    times[way].append(measure())
            there = times.pop("Ray")
            for way, here in times.items():
                ratio = statistics.median(h / t for h, t in zip(here, there, strict=True))
                found[f"{name} beside {way}"] = {"here": here, "ray": there, "ratio": ratio}
                print(
                    f"{name:18} {ratio:5.2f} times the speed of {way}; "
                    f"rounds of {statistics.median(here):.2f} s here, {statistics.median(there):.2f} s with Ray"
                )
    finally:
        ray.shutdown()
    return found


def problems(found: dict[str, Any]) -> list[str]:
    """What is not as it has to be, in sentences."""
    slow = [
        f"Ray has {case['ratio']:.2f} of the speed on {name}; {SPEED_LEAST} is the least"
        for name, case in found["speed"].items()
        if case["ratio"] < SPEED_LEAST
    ]
    plan = found["plan"]
    off = plan["measured"]["round_secs_of_two_workers"] / plan["check"]["round"]
    if not 1 / OFF_MOST <= off <= OFF_MOST:
        slow.append(f"a round took {off:.2f} times the predicted time; {OFF_MOST} is the most")
    return slow


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--speed", action="store_true", help="measure two Ray workers beside two threads and processes"
    )
    parser.add_argument("--check", action="store_true", help="measure all, and fail if it is not as promised")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--cohort", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=32, help="workers on one machine")
    parser.add_argument("--gbps", type=float, default=25.0, help="the network between machines")
    parser.add_argument("--train-secs", type=float, default=10.0, help="one training on one core")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data-dir")
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON at the end")
    asked = parser.parse_args()
    if asked.check:
        found = {"plan": show_parts(asked), "speed": speed(asked)}
    else:
        found = speed(asked) if asked.speed else show_parts(asked)
    if asked.json:
        json.dump(found, sys.stdout)
        print()
    if asked.check and (wrong := problems(found)):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
