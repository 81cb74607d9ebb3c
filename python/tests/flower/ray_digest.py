"""Runs the app of the tests under Flower's own simulation engine, and prints the digest of its model."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import fedflip as ff
import flower_apps as apps
from fedflip.flower import CoinStrategy

DEVICES, ROUNDS, SEED = 6, 6, 5


def plan() -> ff.Plan:
    return ff.plan(ff.Fleet.paper(DEVICES, seed=2), bandwidth_mbps=10, scheme="fixed=0.4")


def main() -> None:
    from flwr.simulation import run_simulation

    warnings.simplefilter("ignore")
    results: list[Any] = []
    strategy = CoinStrategy(plan(), seed=SEED, out=Path(sys.argv[1]))
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 2}}
    run_simulation(apps.server_of(strategy, results, ROUNDS), apps.app, DEVICES, backend_config=resources)
    print("digest", apps.digest(results[0].arrays))


if __name__ == "__main__":
    main()
