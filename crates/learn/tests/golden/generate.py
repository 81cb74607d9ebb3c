"""Losses and parameters of PyTorch over 50 steps of SGD, for the tests of the Rust kernels.

Writes <model>.json beside this file. Parameters and batches come from a formula that Rust repeats to the bit
(`number` below), so only results are stored: the loss of every step, and of each parameter array after the
last step its mean, its root mean square and eight entries. Made with PyTorch on one thread of a CPU; versions
are in the files. Another version or machine may differ in the last digits: the tests allow 2e-4 of
a loss and 2e-3 of an array's root mean square.
"""

import json
import math
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional

STEPS, BATCH = 50, 32


def number(index):
    """A number in [-1, 1) for each index: a multiplicative hash, the same in any language."""
    mixed = (numpy.asarray(index, dtype=numpy.uint64) * 2654435761 + 12345) % (1 << 32)
    mixed = (mixed ^ (mixed >> numpy.uint64(15))) * 2246822519 % (1 << 32)
    return mixed.astype(numpy.float64) / (1 << 31) - 1.0


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x.view(-1, 1, 28, 28)), 2))
        x = functional.relu(functional.max_pool2d(self.conv2(x), 2))
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


class WideCnn(Cnn):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 5, padding=2), nn.Conv2d(32, 64, 5, padding=2)
        self.fc1, self.fc2 = nn.Linear(3136, 512), nn.Linear(512, 10)


def set_parameters(model):
    for place, parameter in enumerate(model.parameters()):
        values = number(numpy.arange(parameter.numel()) + 1_000_003 * (place + 1))
        bound = 1 / math.sqrt(parameter[0].numel()) if parameter.ndim > 1 else 0.1
        with torch.no_grad():
            parameter.copy_(torch.from_numpy((bound * values).astype(numpy.float32)).view_as(parameter))


def train(name, model, features, classes, rate, make_input=lambda values: values):
    set_parameters(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for step in range(STEPS):
        samples = numpy.arange(BATCH) + step * BATCH
        values = number(samples[:, None] * features + numpy.arange(features)[None, :])
        # The label can be seen in the sample: its first numbers are shifted by it.
        labels = ((number(samples + 77_777_777) + 1) / 2 * classes).astype(numpy.int64)
        values[:, : features // 8] += labels[:, None] / classes
        inputs = torch.from_numpy(make_input(values).astype(numpy.float32))
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(inputs), torch.from_numpy(labels))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    arrays = []
    for parameter in model.parameters():
        values = parameter.detach().double().flatten()
        picked = [int(k * (values.numel() - 1) / 7) for k in range(8)]
        arrays.append({
            "len": values.numel(),
            "mean": values.mean().item(),
            "rms": values.square().mean().sqrt().item(),
            "entries": [values[place].item() for place in picked],
        })
    result = {
        "generator": {"torch": torch.__version__, "steps": STEPS, "batch": BATCH},
        "learning_rate": rate,
        "losses": losses,
        "arrays": arrays,
    }
    path = pathlib.Path(__file__).with_name(f"{name}.json")
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{path.name}: loss {losses[0]:.4f} to {losses[-1]:.4f}")


def main():
    torch.set_num_threads(1)
    train("cnn", Cnn(), 784, 10, 0.01)
    train("wide_cnn", WideCnn(), 784, 10, 0.01)


if __name__ == "__main__":
    main()
