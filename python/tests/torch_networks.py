"""The networks of native tasks in torch, with the names of the native parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Cnn(nn.Module):  # type: ignore[misc]
    """The paper's CNN for pictures of 28 · 28: the network of the task ``mnist-cnn``.

    With a padding of 2 it is the network ``cnn`` of the task ``own``, with as many channels and units.
    """

    def __init__(self, padding: int = 0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5, padding=padding)
        self.conv2 = nn.Conv2d(10, 20, 5, padding=padding)
        side = {0: 4, 2: 7}[padding]
        self.fc1, self.fc2 = nn.Linear(20 * side * side, 50), nn.Linear(50, 10)

    def forward(self, pictures: Any) -> Any:
        inner = torch.relu(nn.functional.max_pool2d(self.conv1(pictures), 2))
        inner = torch.relu(nn.functional.max_pool2d(self.conv2(inner), 2))
        return self.fc2(torch.relu(self.fc1(inner.flatten(1))))


class PaddedCnn(Cnn):
    """The same with padded convolutions."""

    def __init__(self) -> None:
        super().__init__(padding=2)


class Softmax(nn.Module):  # type: ignore[misc]
    """The network of the task ``synthetic`` without a hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(60, 10)

    def forward(self, features: Any) -> Any:
        return self.fc(features)


class Hidden(nn.Module):  # type: ignore[misc]
    """The network of the task ``synthetic`` with 32 hidden units."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(60, 32), nn.Linear(32, 10)

    def forward(self, features: Any) -> Any:
        return self.fc2(torch.relu(self.fc1(features)))
