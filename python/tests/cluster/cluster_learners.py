"""Learners of the cluster tests. Workers import this module, so it has no other purpose."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from fedflip import LearnerError


class Slow:
    """Updates that follow from model and key, after a pause in which a worker may die. Writes a file for each training."""

    metrics = {"loss": "min"}

    def __init__(
        self, folder: str, devices: int = 12, secs: float = 0.05, size: int = 1000, kill: int | None = None
    ) -> None:
        self.folder, self.devices, self.secs, self.size, self.kill = folder, devices, secs, size, kill

    def samples(self, device: int) -> int:
        return 10 + device

    def initial(self, seed: int) -> Any:
        return np.random.default_rng(seed).normal(size=self.size).astype(np.float32)

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        time.sleep(self.secs)
        trace = Path(self.folder) / f"{key.seed}-{key.round}-{key.device}-{os.getpid()}-{time.monotonic_ns()}"
        trace.touch()
        if (
            key.device == self.kill
            and key.seed
            and len(list(Path(self.folder).glob(f"{key.seed}-{key.round}-{key.device}-*"))) == 1
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        noise = key.numpy_generator().standard_normal(self.size).astype(np.float32)
        return np.float32(0.1) * noise - np.float32(0.05) * model, float(np.square(model).mean())

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {"loss": (float(np.square(model, dtype=np.float64).sum()), float(model.size))}


class Large(Slow):
    """Updates of 3.2 million parameters that cost nothing to compute."""

    def __init__(self, devices: int = 1000, size: int = 3_200_000) -> None:
        super().__init__("", devices, 0.0, size)

    def initial(self, seed: int) -> Any:
        return np.zeros(self.size, np.float32)

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        if key.device == 0 and key.seed:
            # All others are done before the one that is added up first.
            time.sleep(3)
        return np.full(self.size, np.float32(key.device + 1) / self.devices, np.float32), 1.0

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {"loss": (float(model[0]), 1.0)}


class Different(Slow):
    """Trains otherwise in every second process, as another processor would; or holds other data there."""

    def __init__(self, folder: str, what: str) -> None:
        super().__init__(folder, devices=4, secs=0.0, size=10)
        self.what = what

    def _is_odd(self) -> bool:
        """Whether this process is not the first one that asks."""
        first = Path(self.folder) / "first"
        try:
            first.touch(exist_ok=False)
            first.write_text(str(os.getpid()))
        except FileExistsError:
            time.sleep(0.1)
        return first.read_text() != str(os.getpid())

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        update, loss = super().train(model, key)
        return (update + 1 if self.what == "update" and self._is_odd() else update), loss

    def data_digest(self) -> str:
        return "b" * 64 if self.what == "data" and self._is_odd() else "a" * 64


class Failing(Slow):
    """Fails on one device in the second round."""

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        if key.device == 3 and key.round == 2:
            raise RuntimeError("out of cheese")
        return super().train(model, key)


class Sharing(Slow):
    """Its loss is the share of a GPU that its actor of Ray has."""

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        import ray

        update, _ = super().train(model, key)
        return update, float(ray.get_runtime_context().get_assigned_resources()["GPU"])


class OddError(LearnerError):
    """An error that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("too odd to travel", remedy="stay at home")
        self.way = lambda: None


class Odd(Slow):
    """Raises what workers cannot send, or what no learner should raise."""

    def __init__(self, folder: str, what: str) -> None:
        super().__init__(folder, devices=4, secs=0.0, size=10)
        self.what = what

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        if key.seed and self.what == "error":
            raise OddError
        if key.seed and self.what == "junk":
            return "junk", 1.0  # type: ignore[return-value]
        if self.what == "probe":
            raise RuntimeError(f"bad {object()} in {os.getpid()}")
        return super().train(model, key)

    def close(self) -> None:
        Path(self.folder, f"closed-{os.getpid()}").touch()
