"""Flower apps of numpy that tests share; worker processes and Ray import them by this module."""

from __future__ import annotations

import hashlib
import os
import signal
from typing import Any

import numpy as np
from fedflip.flower import partition_query
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Strategy

app = partition_query(ClientApp())


@app.train()
def train(message: Message, context: Context) -> Message:
    """Moves the model toward the number of the client, and counts its rounds in the context."""
    model = message.content["arrays"].to_numpy_ndarrays()
    device = context.node_config["partition-id"]
    known = context.state.config_records.get("rounds")
    context.state["rounds"] = ConfigRecord({"count": 1 if known is None else known["count"] + 1})
    after = [(x + 0.1 * (device - x)).astype(x.dtype) for x in model]
    metrics = {"train_loss": float(np.square(after[0] - device).mean()), "num-examples": 10}
    content = RecordDict({"arrays": ArrayRecord(after), "metrics": MetricRecord(metrics)})
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    model = message.content["arrays"].to_numpy_ndarrays()[0]
    loss = float(np.square(model - context.node_config["partition-id"]).mean())
    metrics = MetricRecord({"loss": loss, "num-examples": 10})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


noisy = ClientApp()


@noisy.train()
def noisy_train(message: Message, context: Context) -> Message:
    """Uses the global generators, and keeps the model of the last round in the context."""
    import random

    model = message.content["arrays"].to_numpy_ndarrays()[0]
    before = context.state.array_records.get("last")
    last = np.zeros_like(model) if before is None else before.to_numpy_ndarrays()[0]
    after = (
        model + 0.1 * np.random.standard_normal(model.shape) + 0.01 * random.random() + 0.1 * last
    ).astype(model.dtype)
    context.state["last"] = ArrayRecord([after])
    metrics = MetricRecord({"train_loss": float(after.mean()), "num-examples": 1})
    return Message(RecordDict({"arrays": ArrayRecord([after]), "metrics": metrics}), reply_to=message)


failing = ClientApp()


@failing.train()
def failing_train(message: Message, context: Context) -> Message:
    """Fails on the devices that the configuration names, after it has changed its context."""
    context.state["touched"] = ConfigRecord({"yes": True})
    device = context.node_config["partition-id"]
    if device in message.content["config"]["fails"]:
        broken_on_purpose(device)
    if device in message.content["config"].get("dies", []):
        os.kill(os.getpid(), signal.SIGKILL)
    return train(message, context)


def broken_on_purpose(device: int) -> None:
    raise ValueError(f"device {device} has no data")


greedy = ClientApp()


@greedy.train()
def greedy_train(message: Message, context: Context) -> Message:
    """Changes everything that it gets."""
    reply = train(message, context)
    message.content["config"]["server-round"] = -1
    message.content["arrays"].clear()
    message.content.clear()
    return reply


def first_model() -> ArrayRecord:
    return ArrayRecord([np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.zeros(3, np.float32)])


def digest(record: ArrayRecord) -> str:
    """The SHA-256 of all arrays."""
    sha = hashlib.sha256()
    for name, array in record.items():
        value = array.numpy()
        sha.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    return sha.hexdigest()


def server_of(strategy: Strategy, results: list[Any], rounds: int = 5, **more: Any) -> ServerApp:
    """A ServerApp that runs a strategy, and puts the result into a list."""
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        arrays = more.pop("arrays", None) or first_model()
        results.append(strategy.start(grid, arrays, num_rounds=rounds, **more))

    return server
