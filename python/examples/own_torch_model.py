"""Train a small ResNet of your own on 12 devices: planned, and compared with K of N.

The network consists of ordinary torch modules, with batch normalisation. The data are the handwritten digits of scikit-learn,
or synthetic pictures where scikit-learn is not installed. Run it with ``python own_torch_model.py``.
"""

from __future__ import annotations

import argparse

import fedflip as ff
import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset

DEVICES = 12

#: Seconds of computation in a round: four laptops, four phones and four cameras.
COMPUTE_SECS = [0.3] * 4 + [1.0] * 4 + [6.0] * 4

#: How far a step moves the running statistics of batch normalisation. The weights a/q of a cohort add up to 1 on average,
#: but to 2 or 3 in some rounds. Torch's 0.1 could then push a running variance below zero. 10 steps of 0.03 move a
#: running variance by a quarter of its distance.
MOMENTUM = 0.03


class Block(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs, momentum=MOMENTUM)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs, momentum=MOMENTUM)
        self.around = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.norm1(self.conv1(pictures)))
        return torch.relu(self.norm2(self.conv2(inner)) + self.around(pictures))


class ResNet(nn.Module):
    """A residual network for pictures of 8 by 8 pixels."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width, momentum=MOMENTUM), nn.ReLU()
        )
        self.blocks = nn.Sequential(Block(width, width, stride=1), Block(width, 2 * width, stride=2))
        self.last = nn.Linear(2 * width, classes)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        inner: torch.Tensor = self.blocks(self.first(pictures))
        scores: torch.Tensor = self.last(inner.mean(dim=(2, 3)))
        return scores


def pictures() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """1,797 pictures of 8 by 8 pixels, and their classes."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        generator = np.random.default_rng(0)
        labels = generator.integers(10, size=1797)
        patterns = generator.random((10, 8, 8)) < 0.4
        drawn = patterns[labels] + generator.normal(scale=0.5, size=(1797, 8, 8))
        return drawn.astype(np.float32), labels
    found, labels = load_digits(return_X_y=True)
    return (found.reshape(-1, 8, 8) / 16).astype(np.float32), labels.astype(np.int64)


def shared(
    devices: int = DEVICES, concentration: float = 0.5
) -> tuple[list[Dataset[tuple[torch.Tensor, ...]]], Dataset[tuple[torch.Tensor, ...]]]:
    """A data set for each device, with classes shared by a Dirichlet distribution, and a data set for tests."""
    features, labels = pictures()
    generator = np.random.default_rng(3)
    order = generator.permutation(len(labels))
    test, train = order[:400], order[400:]
    owners = np.empty(len(labels), np.int64)
    for label in range(10):
        shares = generator.dirichlet(np.full(devices, concentration))
        owners[labels == label] = generator.choice(devices, size=int((labels == label).sum()), p=shares)
    # Every device gets 10 samples at least.
    owners[train[: 10 * devices]] = np.arange(10 * devices) % devices

    def dataset(rows: npt.NDArray[np.int64]) -> TensorDataset:
        return TensorDataset(torch.from_numpy(features[rows, None]), torch.from_numpy(labels[rows]))

    return [dataset(train[owners[train] == device]) for device in range(devices)], dataset(test)


def learner(steps: int = 10) -> ff.TorchLearner:
    datasets, test = shared()
    return ff.TorchLearner(ResNet, datasets, nn.CrossEntropyLoss(), steps=steps, batch=16, lr=0.1, test=test)


def fleet_of(work: ff.TorchLearner) -> ff.Fleet:
    """The fleet: compute times as above, uploads of 32 bit for each number that travels."""
    numbers = sum(int(np.prod(shape)) for _, shape in work.tensors())
    return ff.Fleet(
        {
            "compute_secs": COMPUTE_SECS,
            "comm_secs": np.full(DEVICES, numbers * 32 / 1e6),
            "samples": [work.samples(device) for device in range(DEVICES)],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one seed, few rounds, and a lower target")
    short = parser.parse_args().short

    work = learner()
    fleet = fleet_of(work)
    plan = ff.plan(fleet, bandwidth_mbps=1, variance=0.3)
    print(fleet, plan, sep="\n")

    found = ff.compare(
        work,
        schemes=["auto", f"fedavg={round(plan.expected_participants)}"],
        reference="auto",
        fleet=fleet,
        bandwidth_mbps=1,
        variance=0.3,
        stop=ff.Stop("accuracy", at=0.4 if short else 0.95),
        rounds_max=30 if short else 400,
        seeds=1 if short else 3,
        workers="process",
        progress=False,
    )
    print(found)

    # The trained model is a state_dict, so that it can be used without fedflip.
    network = ResNet()
    network.load_state_dict(work.state_dict(found.runs[0].model))
    print(f"The network has {sum(parameter.numel() for parameter in network.parameters())} parameters.")


if __name__ == "__main__":
    main()
