"""Train a model of your own without any framework: a learner in numpy.

A learner is any object with the members of ``fedflip.Learner``. This one fits a softmax regression to data that every
device generates from its own clusters. Run it with ``python own_learner.py``.
"""

from __future__ import annotations

import argparse
from typing import ClassVar

import fedflip as ff
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]
Model = dict[str, Array]


class Softmax:
    """Softmax regression on clusters, one cluster for each class. Each device sees some classes more often than others."""

    #: The names that ``evaluate`` returns, and which way each is better.
    metrics: ClassVar = {"accuracy": "max", "loss": "min"}

    def __init__(
        self, devices: int = 30, features: int = 20, classes: int = 5, steps: int = 10, lr: float = 0.02
    ) -> None:
        self.devices = devices
        self.steps, self.lr = steps, lr
        generator = np.random.default_rng(1)
        self._centres = generator.normal(size=(classes, features))
        self._data = [
            self._draw(generator, 40 + 10 * device, generator.dirichlet(np.ones(classes)))
            for device in range(devices)
        ]
        self._test = self._draw(generator, 2000, np.full(classes, 1 / classes))

    def _draw(
        self, generator: np.random.Generator, samples: int, shares: npt.NDArray[np.float64]
    ) -> tuple[Array, Labels]:
        labels = generator.choice(len(shares), size=samples, p=shares)
        noise = generator.normal(scale=1.5, size=(samples, self._centres.shape[1]))
        return (self._centres[labels] + noise).astype(np.float32), labels

    def samples(self, device: int) -> int:
        return len(self._data[device][1])

    def initial(self, seed: int) -> Model:
        classes, features = self._centres.shape
        return {"weight": np.zeros((features, classes), np.float32), "bias": np.zeros(classes, np.float32)}

    def train(self, model: Model, key: ff.TrainKey) -> tuple[Model, float]:
        """A few steps of SGD. The model is read-only, and all random numbers come from the key."""
        generator = key.numpy_generator()
        features, labels = self._data[key.device]
        weight, bias = model["weight"].copy(), model["bias"].copy()
        rate, losses = np.float32(self.lr * key.rate_factor), []
        for _ in range(self.steps):
            batch = generator.integers(len(labels), size=32)
            gradient, loss = self._gradient(features[batch] @ weight + bias, labels[batch])
            weight -= rate * (features[batch].T @ gradient)
            bias -= rate * gradient.sum(axis=0)
            losses.append(loss)
        return {"weight": weight - model["weight"], "bias": bias - model["bias"]}, float(np.mean(losses))

    def evaluate(self, model: Model) -> dict[str, tuple[float, float]]:
        """Each metric as a sum over samples and the number of samples."""
        features, labels = self._test
        scores = features @ model["weight"] + model["bias"]
        loss = self._gradient(scores, labels)[1]
        count = float(len(labels))
        return {
            "accuracy": (float((scores.argmax(axis=1) == labels).sum()), count),
            "loss": (loss * count, count),
        }

    @staticmethod
    def _gradient(scores: Array, labels: Labels) -> tuple[Array, float]:
        """The gradient of the mean cross-entropy, and the mean cross-entropy."""
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float(-np.log(shares[rows, labels] + 1e-12).mean())
        shares[rows, labels] -= 1
        return (shares / np.float32(len(labels))).astype(np.float32), loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="stop after 20 rounds")
    rounds_max = 20 if parser.parse_args().short else 500

    learner = Softmax()
    print(ff.check_learner(learner))
    run = ff.simulate(
        learner,
        stop=ff.Stop("accuracy", at=0.84),
        rounds_max=rounds_max,
        seed=1,
        bandwidth_mbps=10,
        variance=0.1,
        progress=False,
    )
    print(run)
    accuracy = run.evaluations["accuracy"]
    print(f"The accuracy rose from {accuracy[0]:.3f} to {accuracy[-1]:.3f} in {len(run)} rounds.")


if __name__ == "__main__":
    main()
