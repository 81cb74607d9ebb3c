"""MNIST in parts, one for each device, and softmax regression in numpy."""

from __future__ import annotations

from functools import cache

import fedflip as ff
import numpy as np

CLASSES = 10


@cache
def data(devices: int) -> ff.tasks.TaskData:
    """The images, shared among devices by a Dirichlet distribution. A process reads them once."""
    return ff.tasks.load("mnist-cnn", devices=devices)


def images(features: np.ndarray) -> np.ndarray:
    return features.reshape(len(features), -1)


def first_model() -> list[np.ndarray]:
    return [np.zeros((28 * 28, CLASSES), np.float32), np.zeros(CLASSES, np.float32)]


def probabilities(model: list[np.ndarray], features: np.ndarray) -> np.ndarray:
    weight, bias = model
    scores = features @ weight + bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def train(model: list[np.ndarray], device: int, round: int, config: dict) -> tuple[list[np.ndarray], float, int]:
    """A few steps of SGD. The random numbers follow from seed, round and device."""
    features, labels = data(config["num-devices"]).device(device)
    features, labels = images(features), labels.astype(int)
    key = ff.TrainKey(config["seed"], round, device)
    picks = key.numpy_generator().integers(len(labels), size=(config["local-steps"], config["batch-size"]))
    weight, bias = (array.copy() for array in model)
    losses = []
    for batch in picks:
        found = probabilities([weight, bias], features[batch])
        right = (np.arange(len(batch)), labels[batch])
        losses.append(-np.log(found[right] + 1e-9).mean())
        found[right] -= 1
        found *= np.float32(config["learning-rate"] / len(batch))
        weight -= features[batch].T @ found
        bias -= found.sum(axis=0)
    return [weight, bias], float(np.mean(losses)), len(labels)


def test(model: list[np.ndarray], devices: int) -> dict[str, float]:
    features, labels = data(devices).test()
    found, labels = probabilities(model, images(features)), labels.astype(int)
    loss = -np.log(found[np.arange(len(labels)), labels] + 1e-9).mean()
    return {"accuracy": float((found.argmax(axis=1) == labels).mean()), "loss": float(loss)}
