"""Small learners that several tests share. Processes import this module, so it has no other purpose."""

from __future__ import annotations

from typing import Any

import numpy as np


class Quadratic:
    """Device n pulls the model towards its own point; everything is known in closed form."""

    metrics = {"loss": "min"}

    def __init__(self, devices: int = 6, size: int = 5) -> None:
        self.devices = devices
        self.points = np.random.default_rng(3).normal(size=(devices, size)).astype(np.float32)

    def samples(self, device: int) -> int:
        return 10 + device

    def shares(self) -> np.ndarray[Any, Any]:
        samples = np.array([self.samples(device) for device in range(self.devices)], dtype=np.float64)
        return samples / samples.sum()

    def initial(self, seed: int) -> Any:
        return np.random.default_rng(seed).normal(size=self.points.shape[1]).astype(np.float32)

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        noise = key.numpy_generator().normal(scale=0.01, size=model.shape)
        gap = self.points[key.device] - model
        return (np.float32(0.5 * key.rate_factor) * gap + noise).astype(np.float32), float(
            np.square(gap).sum()
        )

    def loss(self, model: Any, device: int) -> float:
        return float(np.square(self.points[device] - model).sum())

    def evaluate(self, model: Any) -> dict[str, Any]:
        gaps = np.square(self.points - model).sum(axis=1, dtype=np.float64)
        weights = np.array([self.samples(device) for device in range(self.devices)], dtype=np.float64)
        return {"loss": (float(gaps @ weights), float(weights.sum()))}


class Counting(Quadratic):
    """Counts its trainings."""

    def __init__(self) -> None:
        super().__init__()
        self.trained = 0

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        self.trained += 1
        return super().train(model, key)


class Named(Quadratic):
    """The same with named tensors."""

    def initial(self, seed: int) -> Any:
        flat = super().initial(seed)
        return {"b": flat[:2], "a": flat[2:].reshape(-1, 1)}

    def _flat(self, model: Any) -> Any:
        return np.concatenate([model["b"], model["a"].ravel()])

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        update, loss = super().train(self._flat(model), key)
        return {"b": update[:2], "a": update[2:].reshape(-1, 1)}, loss

    def evaluate(self, model: Any) -> dict[str, Any]:
        return super().evaluate(self._flat(model))


class Broken(Quadratic):
    """Fails in a chosen way in a chosen round."""

    def __init__(self, how: str, round: int = 3) -> None:
        super().__init__()
        self.how, self.round = how, round

    def train(self, model: Any, key: Any) -> tuple[Any, float]:
        update, loss = super().train(model, key)
        if key.round < self.round:
            return update, loss
        if self.how == "raise":
            raise RuntimeError("out of cheese")
        if self.how == "shape":
            return update[:-1], loss
        if self.how == "dtype":
            return update.astype(np.int64), loss
        if self.how == "nan":
            return update * np.float32("nan"), loss
        if self.how == "mutate":
            model += 1
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "strided":
            return np.repeat(update, 2)[::2], loss
        return update, loss
