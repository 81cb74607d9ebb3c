"""The same app on fedflip's virtual clock, without Ray: `python virtual.py --out run`, then `fedflip report run`."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path

import fedflip as ff
from coinmnist import task
from fedflip.flower import VirtualGrid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="", help="a run folder, which is resumed if it exists")
    parser.add_argument("--rounds", type=int, default=20, help="the number of rounds")
    parser.add_argument("--workers", type=int, help="processes that run clients; by default this one does")
    words = parser.parse_args()
    app = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    config = {**app["config"], "num-server-rounds": words.rounds, "out": words.out}
    devices = int(config["num-devices"])
    grid = VirtualGrid(
        "coinmnist.client_app:app",
        ff.Fleet.paper(devices, seed=7).with_samples(task.data(devices).samples),
        bandwidth_mbps=float(config["bandwidth-mbps"]),
        conditions={"compute_jitter": 0.2},
        run_config=config,
        workers=words.workers,
        seed=int(config["seed"]),
    )
    grid.run("coinmnist.server_app:app")
    print(f"{grid.now:.1f} seconds of virtual time")


if __name__ == "__main__":
    main()
