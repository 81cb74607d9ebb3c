"""Synthetic pictures under the names of Flower's loader of data sets, which needs a hub in the network.

Only what the quickstart calls is here: partitions that are divided, transformed and read by index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from flwr_datasets.partitioner import IidPartitioner

PICTURES = 40


class Partition:
    """Pictures whose brightness tells their class."""

    def __init__(self, pictures: list[Image.Image], labels: list[int]) -> None:
        self.pictures, self.labels = pictures, labels
        self.transform: Callable[[dict[str, list[Any]]], dict[str, list[Any]]] = dict

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.transform({"img": [self.pictures[index]], "label": [self.labels[index]]})
        return {name: values[0] for name, values in row.items()}

    def train_test_split(self, test_size: float, seed: int) -> Halves:
        order = np.random.default_rng(seed).permutation(len(self))
        first = round(test_size * len(self))
        return Halves(train=self.chosen(order[first:]), test=self.chosen(order[:first]))

    def chosen(self, indices: np.ndarray) -> Partition:
        return Partition([self.pictures[i] for i in indices], [self.labels[i] for i in indices])


class Halves(dict[str, Partition]):
    """What a division makes of a partition."""

    def with_transform(self, transform: Callable[[dict[str, list[Any]]], dict[str, list[Any]]]) -> Halves:
        for part in self.values():
            part.transform = transform
        return self


class FederatedDataset:
    """Partitions that follow from their number alone."""

    def __init__(self, dataset: str, partitioners: dict[str, IidPartitioner]) -> None:
        assert dataset == "uoft-cs/cifar10"
        self.partitions = partitioners["train"].num_partitions

    def load_partition(self, partition_id: int) -> Partition:
        assert 0 <= partition_id < self.partitions
        draw = np.random.default_rng(partition_id)
        labels = draw.integers(10, size=PICTURES)
        noise = draw.integers(30, size=(PICTURES, 32, 32, 3))
        pixels = (noise + 22 * labels[:, None, None, None]).astype(np.uint8)
        return Partition([Image.fromarray(picture) for picture in pixels], labels.tolist())
