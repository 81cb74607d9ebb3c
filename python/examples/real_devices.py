"""Train on real devices: a server and three agents, each a process of its own.

All processes run on this machine, with certificates, as they would on four machines. After some rounds the server is
killed with SIGKILL, and started again with the same arguments: the run resumes, and the agents connect again by
themselves. Run it with ``python real_devices.py``. On machines of your own, run ``python real_devices.py server …`` and
``python real_devices.py device …`` there.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import fedflip as ff
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Model = dict[str, Array]

NAMES = ("phone", "laptop", "camera")

#: What the devices find out: the price of a flat from its size, age and floor.
TRUTH = np.array([3.0, -2.0, 0.5], np.float32)


class Prices:
    """A linear model of the data of one device. Every device has other flats."""

    devices = 1

    def __init__(self, number: int) -> None:
        generator = np.random.default_rng(number)
        self._flats = generator.uniform(-1, 1, size=(50 + 30 * number, 3)).astype(np.float32)
        self._prices = (self._flats @ TRUTH + 1 + generator.normal(scale=0.1, size=len(self._flats))).astype(
            np.float32
        )

    def samples(self, device: int) -> int:
        return len(self._prices)

    def initial(self, seed: int) -> Model:
        return first_model()

    def train(self, model: Model, key: ff.TrainKey) -> tuple[Model, float]:
        weight, bias = model["weight"].copy(), model["bias"].copy()
        generator, losses = key.numpy_generator(), []
        for _ in range(10):
            rows = generator.integers(len(self._prices), size=16)
            error = self._flats[rows] @ weight + bias - self._prices[rows]
            weight -= np.float32(0.05) * self._flats[rows].T @ error / np.float32(16)
            bias -= np.float32(0.05) * error.mean(keepdims=True)
            losses.append(float(np.square(error).mean()))
        return {"weight": weight - model["weight"], "bias": bias - model["bias"]}, float(np.mean(losses))

    def evaluate(self, model: Model) -> dict[str, float]:
        return {}


def first_model() -> Model:
    return {"weight": np.zeros(3, np.float32), "bias": np.zeros(1, np.float32)}


def error(model: Model) -> dict[str, float]:
    """The evaluation of the server: the mean squared error on flats that no device has."""
    flats = np.random.default_rng(99).uniform(-1, 1, size=(500, 3)).astype(np.float32)
    return {"mse": float(np.square(flats @ (model["weight"] - TRUTH) + model["bias"] - 1).mean())}


def server(folder: Path, address: str, rounds_max: int) -> None:
    """The server. It prints a line after each round."""

    def shown(record: ff.RoundRecord) -> None:
        print(f"round {record.round}: mse {record.metrics['mse']:.4f}", flush=True)

    ff.serve(
        "external",
        initial=first_model(),
        evaluate=error,
        stop=ff.Stop("mse", at=0.001),
        fleet={"devices": len(NAMES)},
        plan={"variance": 0.5},
        update_norm_max=100,
        rounds_max=rounds_max,
        out=folder / "run",
        certs=folder / "certs",
        address=address,
        callbacks=[shown],
        progress=False,
    )


def device(folder: Path, address: str, name: str) -> None:
    """An agent. It takes part until the run is over, and connects again whenever the server was away."""
    # Attempts to reach a server that is away are no news here.
    logging.getLogger("fedflip").setLevel(logging.ERROR)
    identity = folder / "certs" / "devices" / name
    farewell = ff.join(address, identity, Prices(NAMES.index(name)), compute_secs=0.1)
    print(f"{name} took part in {farewell.rounds} rounds", flush=True)


def all_of_it(rounds_max: int, kill_after: int) -> None:
    """The server and three agents, with a crash of the server in between."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fedflip-")))
        ff.certs.create(folder / "certs", hosts=["127.0.0.1"]).issue(*NAMES)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"

        def started(part: str, last: object) -> subprocess.Popen[str]:
            """This program as another process, which does not outlive this one."""
            command = [sys.executable, __file__, part, str(folder), address, str(last)]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            return process

        first = started("server", rounds_max)
        agents = [started("device", name) for name in NAMES]
        for line in first.stdout or ():
            print("first server: ", line, end="")
            if line.startswith(f"round {kill_after}:"):
                os.kill(first.pid, signal.SIGKILL)
        print(f"The first server was killed: exit code {first.wait()}.")

        second = started("server", rounds_max)
        lines = list(second.stdout or ())
        print("second server:", lines[0] + "               …\nsecond server:", lines[-1], end="")
        for agent in agents:
            print(agent.communicate()[0], end="")
        assert [process.wait() for process in (second, *agents)] == [0, 0, 0, 0]

        run = ff.open(folder / "run")
        print(run)
        print("The weights are", run.model["weight"].round(2), "and the truth is", TRUTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--short", action="store_true", help="kill the server after 3 rounds, and end after 12"
    )
    parts = parser.add_subparsers(dest="part")
    for part, last in (("server", "rounds_max"), ("device", "name")):
        words = parts.add_parser(part)
        words.add_argument("folder", type=Path)
        words.add_argument("address")
        words.add_argument(last, type=int if last == "rounds_max" else str)
    given = parser.parse_args()
    if given.part == "server":
        server(given.folder, given.address, given.rounds_max)
    elif given.part == "device":
        device(given.folder, given.address, given.name)
    elif given.short:
        all_of_it(rounds_max=12, kill_after=3)
    else:
        all_of_it(rounds_max=200, kill_after=10)


if __name__ == "__main__":
    main()
