"""Servers and devices from Python: processes on loopback, with certificates and without."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from deployment import (
    ANY_PORT,
    LIMIT_SECS,
    Devices,
    Line,
    Process,
    external,
    first_model,
    limit,
    records,
    rounds,
    wait_for,
    write_safetensors,
)

pytestmark = pytest.mark.deployed
PROGRAM = Path(__file__).with_name("deployment.py")


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Starts processes of this file."""
    processes: list[Process] = []

    def begin(role: str, *words: str, **settings: Any) -> Process:
        process = Process(sys.executable, str(PROGRAM), role, *words, json.dumps(settings))
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.close()


def begun(start: Callable[..., Process], address: str, **more: Any) -> list[Process]:
    """Three devices, each of which attends before the next begins: their slots are their numbers."""
    devices = []
    for number in range(3):
        settings = {"insecure": True, "name": f"device-{number}"} | {
            key: value[number] if isinstance(value, list) else value for key, value in more.items()
        }
        devices.append(start("device", address, number=number, **settings))
        assert devices[-1].line() == {"attending": str(number)}
    return devices


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "certificates"])
def test_a_server_is_killed_and_the_run_ends_at_its_target_with_the_same_model(
    tmp_path: Path, start: Callable[..., Process], secure: bool
) -> None:
    server_keys: dict[str, Any] = {}
    device_keys: dict[str, Any] = {"wait_secs": 0.02}
    if secure:
        authority = ff.certs.create(tmp_path / "certs")
        identities = authority.issue("device-0", "device-1", "device-2")
        server_keys["certs"] = str(authority.folder)
        device_keys |= {
            "identity": [str(each.folder) for each in identities],
            "insecure": False,
            "name": None,
        }

    def run(name: str, kills: int) -> bytes:
        out = tmp_path / name
        server = start("serve", str(out), ANY_PORT, **server_keys)
        address = server.line()["address"]
        devices = begun(start, address, **device_keys)
        for kill in range(1, kills + 1):
            wait_for(lambda: len(rounds(out)) >= 5 * kill)
            server.kill()
            server.end()
            assert records(out)[-1]["type"] != "end"
            server = start("serve", str(out), address, **server_keys)
            assert server.line() == {"address": address}
        code, lines, errors = server.end()
        assert code == 0, errors
        assert lines[-1]["end"]["reason"] == "target"
        for device in devices:
            code, lines, errors = device.end()
            assert code == 0 and lines[-1]["finished"], errors
        assert all(line["cohort"] == [0, 1, 2] and not line.get("lost") for line in rounds(out))
        return (out / "model.safetensors").read_bytes()

    killed = run("killed", kills=1)
    if not secure:
        assert killed == run("whole", kills=0), (
            "every device takes part in every round, so the model has no chance in it"
        )
    assert rounds(tmp_path / "killed")[-1]["metrics"]["mse"] <= 1e-3


def test_ctrl_c_leaves_a_server_resumable_and_a_device_gone(
    tmp_path: Path, start: Callable[..., Process]
) -> None:
    out = tmp_path / "run"
    server = start("serve", str(out), ANY_PORT, rounds_max=10_000, stop=None)
    address = server.line()["address"]
    devices = begun(start, address, wait_secs=0.01)
    wait_for(lambda: len(rounds(out)) >= 3)
    server.kill(signal.SIGINT)
    code, lines, errors = server.end()
    assert (code, lines) == (0, [{"interrupted": True}]), errors
    before = len(rounds(out))
    assert records(out)[-1]["type"] == "round"
    server = start("serve", str(out), address, rounds_max=before + 3, stop=None)
    assert server.line() == {"address": address}
    code, lines, errors = server.end()
    assert code == 0 and lines[-1]["end"]["rounds"] == before + 3, errors
    for device in devices:
        assert device.end()[0] == 0

    server = start("serve", str(tmp_path / "other"), ANY_PORT)
    device = start("device", server.line()["address"], number=0, insecure=True, name="alone")
    device.line()
    device.kill(signal.SIGINT)
    assert device.end()[:2] == (0, [{"interrupted": True}])


# ---- one run, several kinds of devices


def test_a_rust_agent_and_python_agents_train_a_built_in_task_together(tmp_path: Path) -> None:
    data = ff.tasks.load("synthetic", devices=2)

    class Twin:
        """Trains with the native kernels, through Python."""

        devices = 2

        def samples(self, device: int) -> int:
            return int(data.samples[device])

        def initial(self, seed: int) -> Any:
            return data.initial(seed=seed)

        def train(self, model: Any, key: ff.TrainKey) -> Any:
            flat = np.concatenate([model[name].ravel() for name in data.parameters])
            update, loss = data.train(flat, seed=key.seed, round=key.round, device=key.device)
            return data.split(update), loss

        def evaluate(self, model: Any) -> Any:
            return data.evaluate(model)

    def run(name: str, second: Any) -> bytes:
        agents: list[Any] = []

        def ready(at: Any) -> None:
            # The server continues when this function returns, so the second device waits for the first elsewhere.
            threading.Thread(target=begin, args=(at,)).start()

        def begin(at: Any) -> None:
            words = [
                "join",
                at.address,
                "--insecure",
                "--name",
                "rust",
                "--give-up-secs",
                "20",
                "--log",
                "json",
            ]
            rust = Process(sys.executable, "-m", "fedflip", *words)
            assert rust.process.stderr is not None
            while "attending" not in rust.process.stderr.readline():
                assert rust.process.poll() is None
            devices = Devices(second)
            devices(at)
            agents.extend([rust, devices])

        run = ff.serve("synthetic", out=tmp_path / name, address=ANY_PORT, insecure=True, quorum=1.0, scheme="full",
                       fleet={"devices": 2}, rounds_max=6, target_accuracy=1.0, progress=False, ready=ready, until=limit())  # fmt: skip
        assert run is not None and len(rounds(tmp_path / name)) == 6
        assert all(line["cohort"] == [0, 1] for line in rounds(tmp_path / name))
        code, _, errors = agents[0].end()
        agents[0].close()
        assert code == 0, errors
        (left,) = agents[1].joined()
        assert left == ff.Farewell(finished=True, slot=1, rounds=6, failures=0)
        return (tmp_path / name / "model.safetensors").read_bytes()

    native = run("native", {"name": "python", "insecure": True})
    assert native == run("learner", {"learner": Twin(), "name": "python", "insecure": True})


def test_the_servers_of_the_command_line_have_python_devices_too(tmp_path: Path) -> None:
    ff_text = "[task]\nname = 'external'\ninitial = 'first.safetensors'\n[task.settings]\nrate = 0.1\n[fleet]\ndevices = 1\n"
    learner = Line(0)
    write_safetensors(tmp_path / "first.safetensors", learner.initial(1))
    scenario = tmp_path / "s.toml"
    words = [
        sys.executable,
        "-m",
        "fedflip",
        "serve",
        "s.toml",
        "--insecure",
        "--listen",
        ANY_PORT,
        "--out",
        "run",
    ]

    def refused(text: str) -> str:
        scenario.write_text(text)
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECS)
        assert done.returncode == 2 and not (tmp_path / "run").exists(), done
        return done.stderr

    assert "server.update_norm_max: is missing" in refused(ff_text)
    said = refused(
        f"{ff_text}[server]\nupdate_norm_max = 100\n[stop]\nmetric = 'mse'\nat = 0.1\nmode = 'min'\n"
    )
    assert "external task is not evaluated" in said and "evaluate=" in said
    scenario.write_text(
        f"{ff_text}[server]\nupdate_norm_max = 100\n[stop]\nrounds_max = 4\n[plan]\nscheme = 'full'\n"
    )
    server = Process(*words, "--log", "json", cwd=tmp_path)
    assert server.process.stderr is not None
    event: dict[str, Any] = {}
    while event.get("message") != "listening":
        event = json.loads(server.process.stderr.readline())
    left = ff.join(
        event["address"],
        learner=lambda settings: Line(0, **settings),
        insecure=True,
        name="phone",
        give_up_secs=20,
    )
    assert left.finished and left.rounds == 4
    code, _, errors = _ended(server)
    assert code == 0, errors
    assert len(rounds(tmp_path / "run")) == 4


def _ended(process: Process) -> tuple[int, str, str]:
    output, errors = process.process.communicate(timeout=LIMIT_SECS)
    process.close()
    return process.process.returncode, output, errors


def test_a_first_model_comes_from_a_file_and_browsers_can_watch(tmp_path: Path) -> None:
    from urllib.request import urlopen

    write_safetensors(tmp_path / "first.safetensors", first_model())
    devices, pages = Devices({"learner": Line(0)}), []

    def ready(at: Any) -> None:
        assert at.dashboard.startswith("http://127.0.0.1:") and not at.dashboard.endswith(":0/")
        for page in (at.dashboard, f"http://{at.metrics}/metrics"):
            with urlopen(page, timeout=LIMIT_SECS) as answer:
                pages.append(answer.read().decode())
        devices(at)

    initial = tmp_path / "first.safetensors"
    ff.serve(
        **external(tmp_path / "run", devices=1, initial=initial, dashboard=0, metrics=ANY_PORT, ready=ready)
    )
    assert devices.joined()[0].finished
    assert "<html" in pages[0] and "fedflip_" in pages[1]
    assert (tmp_path / "run" / "initial.safetensors").read_bytes() == initial.read_bytes()


class Many(Line):
    """A learner with the data of three devices, which remembers the keys of its trainings."""

    devices = 3
    counts = (7, 8, 9)

    def __init__(self) -> None:
        super().__init__(0)
        self.keys: list[ff.TrainKey] = []

    def samples(self, device: int) -> int:
        return self.counts[device]

    def train(self, model: Any, key: ff.TrainKey) -> Any:
        self.keys.append(key)
        return super().train(model, key)

    def rounds(self) -> set[tuple[int, int]]:
        """Seed and device of all trainings but those of round 0, in which a device is timed."""
        return {(key.seed, key.device) for key in self.keys if key.round}


class One(Many):
    devices = 1


def samples_by_name(out: Path) -> dict[str, int]:
    """The number of samples of each device in the fleet file."""
    with (out / "fleet.csv").open() as file:
        return {row["device"]: int(row["samples"]) for row in csv.DictReader(file)}


def test_a_device_of_a_learner_is_chosen_whatever_its_slot(tmp_path: Path) -> None:
    learners = [Many(), Many(), One()]
    devices = Devices(
        {"learner": learners[0], "device": 2},
        {"learner": lambda settings: learners[1], "device": 1},
        {"learner": learners[2], "device": 0},
    )
    ff.serve(**external(tmp_path / "run", seed=5, stop=None, rounds_max=2, ready=devices))
    left = devices.joined()
    assert sorted(each.slot for each in left) == [0, 1, 2] and all(each.rounds == 2 for each in left)
    assert samples_by_name(tmp_path / "run") == {"device-0": 9, "device-1": 8, "device-2": 7}
    assert not [line for line in records(tmp_path / "run") if line["type"] == "recount"]
    assert learners[0].rounds() == {(5, 2)} and learners[1].rounds() == {(5, 1)}
    # Also in round 0.
    assert {key.device for key in learners[0].keys} == {2}
    # The seed of a learner with one device follows the slot, so that two of them do not draw the same numbers.
    (moved,) = learners[2].rounds()
    assert moved[1] == 0 and (moved[0] == 5) == (left[2].slot == 0)


def test_the_slot_chooses_among_the_devices_of_a_learner(tmp_path: Path) -> None:
    learner, alone = Many(), One()
    devices = Devices({"learner": learner}, {"learner": alone})
    ff.serve(**external(tmp_path / "run", devices=2, seed=5, stop=None, rounds_max=3, ready=devices))
    many, one = devices.joined()
    assert learner.rounds() == {(5, many.slot)}
    (moved,) = alone.rounds()
    assert moved[1] == 0 and (moved[0] == 5) == (one.slot == 0)
    # A slot may move while devices enrol. The server then hears of the right number of samples with the first update.
    counts = samples_by_name(tmp_path / "run")
    names = {many.slot: "device-0", one.slot: "device-1"}
    for line in records(tmp_path / "run"):
        for count in line["counts"] if line["type"] == "recount" else []:
            counts[names[count["device"]]] = count["now"]
    assert counts == {"device-0": Many.counts[many.slot], "device-1": 7}


def test_a_torch_model_trains_on_a_device(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    line = Line(0)
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(line.x), torch.from_numpy(line.y))

    def learner() -> Any:
        return ff.TorchLearner(
            lambda: torch.nn.Linear(2, 1), [dataset], torch.nn.functional.mse_loss, steps=10, batch=20, lr=0.2
        )

    def evaluate(model: dict[str, Any]) -> dict[str, float]:
        return {"mse": float(np.square(line.x @ model["weight"].T + model["bias"] - line.y).mean())}

    devices = Devices({"learner": learner()})
    arguments = external(tmp_path / "run", devices=1, initial=learner(), evaluate=evaluate, ready=devices)
    ff.serve(**arguments)
    assert devices.joined()[0].finished
    assert records(tmp_path / "run")[-1]["reason"] == "target"
