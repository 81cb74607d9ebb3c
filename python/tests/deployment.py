"""What the tests of deployed runs share. It is also their program: ``python deployment.py device ADDRESS JSON``."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np

#: Nothing here takes longer, even on a busy machine whose disk is slow to sync.
LIMIT_SECS = 150.0
ANY_PORT = "127.0.0.1:0"


class Line:
    """A linear model with two tensors, fitted to the points of one device. ``fails`` says what it does wrong later."""

    devices = 1
    truth = np.array([[3.0], [-2.0]], np.float32)

    def __init__(self, number: int, rate: float = 0.1, fails: str = "", wait_secs: float = 0.0) -> None:
        self.rate, self.fails, self.wait_secs = rate, fails, wait_secs
        generator = np.random.default_rng(number)
        self.x = generator.uniform(-1, 1, (40 + number, 2)).astype(np.float32)
        self.y = self.x @ self.truth + np.float32(0.5)

    def samples(self, device: int) -> int:
        return len(self.x)

    def initial(self, seed: int) -> dict[str, Any]:
        return {"w": np.zeros((2, 1), np.float32), "b": np.zeros(1, np.float32)}

    def train(self, model: dict[str, Any], key: ff.TrainKey) -> tuple[dict[str, Any], float]:
        time.sleep(self.wait_secs)
        w, b = model["w"].copy(), model["b"].copy()
        rows = key.numpy_generator().permutation(len(self.x))
        loss = 0.0
        for part in np.array_split(rows, 5):
            error = self.x[part] @ w + b - self.y[part]
            loss += float(np.square(error).mean()) / 5
            w -= self.rate * self.x[part].T @ error / len(part)
            b -= self.rate * error.mean(axis=0)
        update = {"w": w - model["w"], "b": b - model["b"]}
        if key.round >= 3:
            if self.fails == "raise":
                raise RuntimeError("out of cheese")
            if self.fails == "hang":
                for _ in range(1000):
                    time.sleep(0.05)
            if self.fails == "nan":
                update["w"][0] = np.nan
            if self.fails == "shape":
                update["w"] = update["w"][:1]
            if self.fails == "loss":
                loss = float("nan")
            if self.fails == "dtype":
                update["b"] = update["b"].astype(np.float64)
        return update, loss

    def evaluate(self, model: dict[str, Any]) -> dict[str, Any]:
        error = self.x @ model["w"] + model["b"] - self.y
        return {"mse": (float(np.square(error).sum()), len(error))}


def mse(model: dict[str, Any]) -> dict[str, float]:
    """The evaluation of the server, on points of nobody."""
    x = np.random.default_rng(99).uniform(-1, 1, (200, 2)).astype(np.float32)
    return {"mse": float(np.square(x @ (model["w"] - Line.truth) + model["b"] - 0.5).mean())}


def first_model() -> dict[str, Any]:
    return {"w": np.zeros((2, 1), np.float32), "b": np.zeros(1, np.float32)}


def limit() -> threading.Event:
    """An event that ends a server whose devices do not come."""
    event = threading.Event()
    timer = threading.Timer(LIMIT_SECS, event.set)
    timer.daemon = True
    timer.start()
    return event


def external(folder: Path, **more: Any) -> dict[str, Any]:
    """The arguments of a server of the model, for three devices that all take part in every round."""
    devices = more.pop("devices", 3)
    keys: dict[str, Any] = {
        "scenario": "external",
        "out": folder,
        "initial": first_model(),
        "evaluate": mse,
        "stop": ff.Stop("mse", at=1e-3, mode="min"),
        "address": ANY_PORT,
        "insecure": True,
        "quorum": 1.0,
        "replan_every": 0,
        "progress": False,
        "until": limit(),
        "scheme": "full",
        "rounds_max": 200,
        "fleet": {"devices": devices},
        "update_norm_max": 100,
        "settings": {"rate": 0.1},
    }
    return {**keys, **more}


class Process:
    """A process that does not outlive its test, and whose lines can be waited for."""

    def __init__(self, *words: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self._watchdog = threading.Timer(LIMIT_SECS, self.process.kill)
        self._watchdog.start()

    def line(self) -> Any:
        """The next line, as JSON."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, self.process.communicate()[1]
        return json.loads(text)

    def end(self) -> tuple[int, list[Any], str]:
        """The exit code, the remaining lines and the errors."""
        output, errors = self.process.communicate()
        self._watchdog.cancel()
        return self.process.returncode, [json.loads(line) for line in output.splitlines()], errors

    def kill(self, with_signal: int = signal.SIGKILL) -> None:
        self.process.send_signal(with_signal)

    def close(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


class Devices:
    """Devices as threads of the test."""

    def __init__(self, *devices: dict[str, Any]) -> None:
        self.devices, self.threads = devices, []
        self.results: list[Any] = [None] * len(devices)

    def __call__(self, listening: ff.Listening) -> None:
        for number, arguments in enumerate(self.devices):
            thread = threading.Thread(target=self._join, args=(number, listening.address, arguments))
            thread.start()
            self.threads.append(thread)

    def _join(self, number: int, address: str, arguments: dict[str, Any]) -> None:
        keys: dict[str, Any] = {"give_up_secs": 20, **arguments}
        if "identity" not in keys:
            keys.update(insecure=True, name=f"device-{number}")
        try:
            self.results[number] = ff.join(address, **keys)
        except BaseException as error:
            self.results[number] = error

    def joined(self) -> list[Any]:
        for thread in self.threads:
            thread.join(LIMIT_SECS)
            assert not thread.is_alive()
        return self.results


def records(out: Path) -> list[Any]:
    """The lines of the records that are complete."""
    try:
        text = (out / "records.jsonl").read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def rounds(out: Path) -> list[Any]:
    return [line for line in records(out) if line["type"] == "round"]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_SECS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def serve_process(out: str, address: str, settings: dict[str, Any]) -> None:
    """The process of a server: a line with its address, and one with the end of the run."""
    say = lambda **line: print(json.dumps(line), flush=True)  # noqa: E731
    certs = settings.pop("certs", None)
    more = {"insecure": False, "certs": certs} if certs else {}
    arguments = external(
        Path(out), address=address, ready=lambda at: say(address=at.address), **more, **settings
    )
    try:
        ff.serve(**arguments)
    except KeyboardInterrupt:
        say(interrupted=True)
        return
    say(end=records(Path(out))[-1])


def device_process(address: str, settings: dict[str, Any]) -> None:
    """The process of a device: a line when it attends, and one when it leaves."""

    class Attending(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("attending"):
                print(json.dumps({"attending": record.fields["slot"]}), flush=True)  # type: ignore[attr-defined]

    log = logging.getLogger("fedflip")
    log.setLevel(logging.INFO)
    log.addHandler(Attending())
    number, wait_secs = settings.pop("number"), settings.pop("wait_secs", 0.0)
    make = lambda settings: Line(number, settings["rate"], wait_secs=wait_secs)  # noqa: E731
    try:
        left = ff.join(address, learner=make, give_up_secs=30, **settings)
    except KeyboardInterrupt:
        print(json.dumps({"interrupted": True}), flush=True)
        return
    print(json.dumps({"finished": left.finished, "rounds": left.rounds}), flush=True)


def write_safetensors(path: Path, arrays: dict[str, Any]) -> None:
    """Writes a safetensors file, as the format's page describes it."""
    header, content = {}, b""
    for name, array in sorted(arrays.items()):
        end = len(content) + array.nbytes
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(content), end]}
        content += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    keys = json.loads(arguments.pop())
    {"serve": serve_process, "device": device_process}[role](*arguments, keys)
    os._exit(0)
