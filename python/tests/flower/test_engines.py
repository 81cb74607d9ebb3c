"""The same app under Flower's own engines: its simulation by Ray, and a SuperLink with SuperNodes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = [pytest.mark.flower, pytest.mark.slow, pytest.mark.timeout(600)]

import flower_apps as apps
import ray_digest
from fedflip.flower import CoinStrategy, VirtualGrid

HERE = Path(__file__).parent


def environment(home: Path) -> dict[str, str]:
    package = str(Path(ff.__file__).resolve().parents[1])
    places = os.pathsep.join([package, str(HERE), *(place for place in sys.path if place)])
    home.mkdir(exist_ok=True)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    private = {"HOME": str(home), "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0"}
    # A cluster of this test alone, also where another one runs on the machine.
    ray = {"RAY_ADDRESS": "local", "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **private, **ray, "PYTHONPATH": places, "PATH": programs}


def test_flowers_engine_and_the_virtual_grid_end_with_the_same_model(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    done = subprocess.run(
        [sys.executable, str(HERE / "ray_digest.py"), str(tmp_path / "ray")],
        capture_output=True,
        text=True,
        env=environment(tmp_path / "home"),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (under_ray,) = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("digest ")]
    results: list[Any] = []
    plan = ray_digest.plan()
    strategy = CoinStrategy(plan, seed=ray_digest.SEED, out=tmp_path / "virtual")
    grid = VirtualGrid(apps.app, plan.fleet, bandwidth_mbps=10)
    grid.run(apps.server_of(strategy, results, ray_digest.ROUNDS))
    assert apps.digest(results[0].arrays) == under_ray
    # Both folders have the same cohorts, losses and models; the times of one are real.
    real, virtual = ff.open(tmp_path / "ray"), ff.open(tmp_path / "virtual")
    assert np.array_equal(real.participants["device"], virtual.participants["device"])
    assert np.array_equal(real.evaluations["loss"], virtual.evaluations["loss"])
    assert real.header["deployed"] == {} and "deployed" not in virtual.header
    assert (tmp_path / "ray" / "model.safetensors").read_bytes() == (
        tmp_path / "virtual" / "model.safetensors"
    ).read_bytes()


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [place.getsockname()[1] for place in sockets]
    for place in sockets:
        place.close()
    return ports


class Processes:
    """Programs of Flower, each in a session of its own, so that it ends with all processes that it has started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = environment(folder / "home")
        self.started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *words: str) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        self.started[name] = subprocess.Popen(
            words, stdout=log, stderr=log, env=self.environment, cwd=self.folder, start_new_session=True
        )
        log.close()

    def kill(self, name: str) -> None:
        process = self.started.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def logs(self) -> str:
        return "\n".join(
            f"== {log.name}\n{log.read_text()[-1500:]}" for log in sorted(self.folder.glob("*.log"))
        )


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    found = Processes(tmp_path)
    yield found
    for name in list(found.started):
        found.kill(name)


def wait(what: str, processes: Processes, secs: float, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + secs
    while not holds():
        assert time.monotonic() < until, f"{what} took longer than {secs} s\n{processes.logs()}"
        time.sleep(0.2)


def rounds_of(out: Path) -> list[dict[str, Any]]:
    try:
        lines = (out / "records.jsonl").read_text().splitlines()
    except OSError:
        return []
    return [line for line in map(json.loads, lines) if line["type"] == "round"]


@pytest.mark.deployed
def test_a_superlink_with_three_supernodes_survives_one_that_is_killed(
    tmp_path: Path, processes: Processes
) -> None:
    import flwr

    if tuple(map(int, flwr.__version__.split(".")[:2])) < (1, 41):
        pytest.skip("the addresses of older SuperLinks are other arguments")
    shutil.copytree(HERE / "deployed", tmp_path / "app")
    link, *nodes = free_ports(4)
    config = (
        f'[superlink]\ndefault = "local"\n[superlink.local]\naddress = "127.0.0.1:{link}"\ninsecure = true\n'
    )
    (tmp_path / "home" / "config.toml").write_text(config)
    local = ["--insecure", "--host", "127.0.0.1", "--port"]
    processes.start(
        "link", "flower-superlink", *local, str(link), "--disable-runtime-dependency-installation"
    )
    for device, port in enumerate(nodes):
        partition = f"partition-id={device} num-partitions=3"
        place = ["--superlink", f"127.0.0.1:{link}", "--node-config", partition]
        processes.start(f"node{device}", "flower-supernode", *local, str(port), *place)
    wait("the start", processes, 90, lambda: _answers(link))
    out = tmp_path / "run"
    processes.start("run", "flwr", "run", "app", "local", "--run-config", f'out="{out}"', "--stream")
    wait("the first round", processes, 180, lambda: len(rounds_of(out)) >= 1)
    processes.kill("node2")
    run = processes.started["run"]
    wait("the end", processes, 400, lambda: ff.open(out).ended or run.poll() is not None)
    assert ff.open(out).ended, processes.logs()
    rounds, opened = rounds_of(out), ff.open(out)
    assert len(rounds) == 5 and opened.end is not None and opened.end.reason == "rounds_max"
    lost = {line["round"]: [gone["device"] for gone in line.get("lost", [])] for line in rounds}
    plan = ff.Plan.from_q(opened.fleet, opened.q)
    for line in rounds:
        assert line["cohort"] == plan.sample(round=line["round"], seed=1).tolist()
        assert lost[line["round"]] in ([], [2]), "nobody but the killed node is lost"
    assert lost[1] == [] and any(lost.values()), "the killed node is flagged"
    # The others go on with their own weights: the model is what their updates add up to.
    model = np.zeros(4, np.float32)
    for line in rounds:
        step = np.zeros(4)
        for device in (device for device in line["cohort"] if device not in lost[line["round"]]):
            after = (model + 0.1 * (device - model)).astype(np.float32)
            step += plan.weights[device] * (after.astype(np.float64) - model.astype(np.float64))
        model = (model.astype(np.float64) + step).astype(np.float32)
        losses = [float(np.square(model - device).mean()) for device in range(3)]
        assert line["metrics"]["loss"] in (losses[2:] if line["round"] == 1 else losses[:2]), (
            "one client evaluates"
        )
    assert np.array_equal(opened.model["0"], model)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True
