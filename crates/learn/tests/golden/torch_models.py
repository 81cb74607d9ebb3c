"""The models of crates/learn/src/models in PyTorch, written plainly: names and shapes are the same.

Every model takes the features of a sample as one row, in the order in which fedflip holds them, so that both
can be given the same numbers. `MODELS` is what `fedflip bench` calls them, with what a sample looks like.
"""

from dataclasses import dataclass
from typing import Callable

import torch
from torch import nn
from torch.nn import functional


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


class ShakespeareLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(80, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2)
        self.linear = nn.Linear(256, 80)

    def forward(self, x):
        steps, _ = self.lstm(self.embedding(x.long().t()))
        return self.linear(steps[-1])


def scaled(channels, width):
    return max(1, round(channels * width / 8)) * 8


def group_norm(channels):
    most = max(1, channels // 16)
    groups = next(groups for groups in range(most, 0, -1) if channels % groups == 0)
    return nn.GroupNorm(groups, channels)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.depthwise_norm = norm(inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.pointwise_norm = norm(outputs)

    def forward(self, x):
        x = functional.relu(self.depthwise_norm(self.depthwise(x)))
        return functional.relu(self.pointwise_norm(self.pointwise(x)))


class MobileNet(nn.Module):
    """MobileNet v1 with a first convolution of stride 1; `norm` makes a normalisation for this number of channels."""

    BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]

    def __init__(self, width=1.0, norm=group_norm):
        super().__init__()
        inputs = scaled(32, width)
        self.stem = nn.Conv2d(3, inputs, 3, 1, 1, bias=False)
        self.stem_norm = norm(inputs)
        for number, (full, stride) in enumerate(self.BLOCKS, 1):
            setattr(self, f"block{number}", Block(inputs, scaled(full, width), stride, norm))
            inputs = scaled(full, width)
        self.classifier = nn.Linear(inputs, 10)
        self.memory_format = torch.contiguous_format

    def forward(self, x):
        # The samples come with channels last: as that layout it is a view, as the other one a copy.
        x = x.view(-1, 32, 32, 3).permute(0, 3, 1, 2).contiguous(memory_format=self.memory_format)
        x = functional.relu(self.stem_norm(self.stem(x)))
        for number in range(1, len(self.BLOCKS) + 1):
            x = getattr(self, f"block{number}")(x)
        return self.classifier(x.mean((2, 3)))


@dataclass
class Model:
    make: Callable[[], nn.Module]
    features: int
    classes: int
    # Whether features are codes of symbols: whole numbers below `classes`.
    symbols: bool = False


MODELS = {
    "mnist-cnn": Model(Cnn, 784, 10),
    "mnist-cnn-wide": Model(WideCnn, 784, 10),
    "cifar10-mobilenet": Model(MobileNet, 3072, 10),
    "shakespeare-lstm": Model(ShakespeareLstm, 80, 80, symbols=True),
}
