"""Rounds per second of the same Flower app: VirtualGrid against Flower's own simulation engine.

Both run in turns in one process: the server app that Flower's engine runs times a few rounds on Flower's grid, then the same
rounds on a VirtualGrid, and so on. Two cases: rounds that only pass messages, and the CNN with 21,840 parameters that ten
clients train, each with ten steps of 32 samples, on two workers.

Needs Flower with Ray (`python/tests/requirements-flower.txt`), cloudpickle, and PyTorch for the CNN. Prints a table, or JSON with
``--json``; ``--check`` fails below the ratios that docs/tutorials/flower.md promises; ``--quick`` times few rounds.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

#: What docs/tutorials/flower.md promises.
MESSAGES_RATIO_MIN, CNN_RATIO_MIN = 20.0, 1.5
CLIENTS, WORKERS, BATCH, STEPS = 10, 2, 32, 10

# Before Ray starts: a cluster of our own, and nobody is told about it.
os.environ |= {"RAY_ADDRESS": "local", "RAY_USAGE_STATS_ENABLED": "0", "FLWR_TELEMETRY_ENABLED": "0"}

import fedflip as ff
import numpy as np
from fedflip.flower import VirtualGrid
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg


def idle_app() -> ClientApp:
    """Clients that send back what they get."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        metrics = MetricRecord({"num-examples": 1})
        return Message(
            RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message
        )

    return app


def make_cnn() -> Any:
    """The paper's CNN for MNIST: 21,840 parameters."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 10, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(10, 20, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(320, 50),
        nn.ReLU(),
        nn.Linear(50, 10),
    )


def cnn_app() -> ClientApp:
    """Clients that train the CNN on noise."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        import torch

        model = make_cnn()
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        draw = torch.Generator().manual_seed(int(context.node_config["partition-id"]))
        images = torch.randn(BATCH * STEPS, 1, 28, 28, generator=draw)
        labels = torch.randint(10, (BATCH * STEPS,), generator=draw)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(STEPS):
            batch = slice(BATCH * step, BATCH * (step + 1))
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimiser.step()
        metrics = MetricRecord({"num-examples": BATCH * STEPS})
        content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
        return Message(content, reply_to=message)

    return app


def cnn_arrays() -> ArrayRecord:
    import torch

    torch.manual_seed(1)
    model = make_cnn()
    assert sum(parameter.numel() for parameter in model.parameters()) == 21_840
    return ArrayRecord(model.state_dict())


def rounds_secs(grid: Grid, arrays: ArrayRecord, rounds: int) -> float:
    """The time of one round, on average over a few."""
    strategy = FedAvg(fraction_evaluate=0.0)
    start = time.perf_counter()
    strategy.start(grid, arrays, num_rounds=rounds, timeout=600)
    return (time.perf_counter() - start) / rounds


def compare(
    app: ClientApp, arrays: ArrayRecord, workers: int | None, turns: int, rounds: int
) -> dict[str, float]:
    """Rounds per second on both grids, the median over turns; the first turn warms both up."""
    from flwr.simulation import run_simulation

    found: dict[str, list[float]] = {"flower": [], "virtual": []}
    fleet = ff.Fleet.paper(CLIENTS, seed=1)
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        virtual = VirtualGrid(app, fleet, bandwidth_mbps=10.0, workers=workers)
        try:
            for turn in range(turns + 1):
                own = rounds_secs(grid, arrays, rounds)
                ours = rounds_secs(virtual, arrays, rounds)
                if turn:
                    found["flower"].append(own)
                    found["virtual"].append(ours)
        finally:
            virtual.close()

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": WORKERS}}
    run_simulation(server, app, CLIENTS, backend_config=resources)
    secs = {name: median(values) for name, values in found.items()}
    ratios = [own / ours for own, ours in zip(found["flower"], found["virtual"], strict=True)]
    return {
        "flower_rounds_per_sec": 1 / secs["flower"],
        "virtual_rounds_per_sec": 1 / secs["virtual"],
        "ratio": median(ratios),
        "ratio_least": min(ratios),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="time few rounds")
    parser.add_argument("--check", action="store_true", help="fail below the promised ratios")
    words = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("flwr").setLevel(logging.ERROR)
    turns, rounds = (2, 5) if words.quick else (7, 10)
    empty = ArrayRecord([np.zeros(10, np.float32)])
    cases: dict[str, tuple[Callable[[], dict[str, float]], float]] = {
        "messages only": (lambda: compare(idle_app(), empty, None, turns, rounds), MESSAGES_RATIO_MIN)
    }
    try:
        import torch  # noqa: F401
    except ImportError:
        print("PyTorch is missing, so the CNN is left out", file=sys.stderr)
        if words.check:
            # A promise that was not looked at is not kept.
            return 1
    else:
        cases["CNN, 10 clients"] = (
            lambda: compare(cnn_app(), cnn_arrays(), WORKERS, turns, rounds),
            CNN_RATIO_MIN,
        )
    results = {name: {**case(), "ratio_min": least} for name, (case, least) in cases.items()}
    if words.json:
        print(json.dumps(results, indent=2))
    else:
        print(f"{'':18}{'Flower':>12}{'VirtualGrid':>14}{'ratio':>9}{'least':>9}{'promised':>10}")
        for name, row in results.items():
            speeds = f"{row['flower_rounds_per_sec']:>10.2f}/s{row['virtual_rounds_per_sec']:>12.2f}/s"
            print(f"{name:18}{speeds}{row['ratio']:>9.1f}{row['ratio_least']:>9.1f}{row['ratio_min']:>10.1f}")
    failed = [name for name, row in results.items() if row["ratio"] < row["ratio_min"]]
    if words.check and failed:
        print(f"too slow: {', '.join(failed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
