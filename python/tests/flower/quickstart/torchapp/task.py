"""The model, the data of each client, and the loops over them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    """A small CNN with a normalisation, whose counter is an integer."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 5), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(4))
        self.classes = nn.Linear(6 * 7 * 7, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classes(self.features(images).flatten(1))


def pictures(number: int, draw: torch.Generator) -> TensorDataset:
    """Images whose brightness tells their class."""
    labels = torch.randint(10, (number,), generator=draw)
    return TensorDataset(
        torch.randn(number, 3, 32, 32, generator=draw) + labels.reshape(-1, 1, 1, 1) / 2, labels
    )


def load_test_set() -> DataLoader:
    return DataLoader(pictures(200, torch.Generator().manual_seed(12345)), batch_size=128)


def load_data(partition_id: int, num_partitions: int, batch_size: int) -> tuple[DataLoader, DataLoader]:
    """The images of a client; loaders shuffle by torch's global generator."""
    assert 0 <= partition_id < num_partitions
    draw = torch.Generator().manual_seed(partition_id)
    train, test = random_split(pictures(80, draw), [64, 16], generator=draw)
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(test, batch_size=batch_size)


def train(net: nn.Module, loader: DataLoader, epochs: int, lr: float) -> float:
    criterion, total = nn.CrossEntropyLoss(), 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    net.train()
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(net(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total / (epochs * len(loader))


def test(net: nn.Module, loader: DataLoader) -> tuple[float, float]:
    criterion, correct, loss = nn.CrossEntropyLoss(), 0, 0.0
    net.eval()
    with torch.no_grad():
        for images, labels in loader:
            outputs = net(images)
            loss += criterion(outputs, labels).item()
            correct += int((outputs.argmax(1) == labels).sum())
    return loss / len(loader), correct / len(loader.dataset)
