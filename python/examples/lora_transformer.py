"""Fine-tune a transformer on 12 devices: a frozen backbone, and LoRA-style adapters that travel.

The backbone is a ``torch.nn.TransformerEncoder``, trained for some seconds on public sequences, and then frozen. The devices
train low-rank changes of its weights and a new last layer on private sequences of another kind. Only these small tensors
travel: the frozen ones stay in every process. Run it with ``python lora_transformer.py``.
"""

from __future__ import annotations

import argparse

import fedflip as ff
import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.utils.data import TensorDataset

DEVICES = 12
TOKENS, LENGTH, CLASSES, WIDTH = 12, 16, 4, 32

#: Seconds of computation in a round: four laptops, four phones and four cameras.
COMPUTE_SECS = [0.3] * 4 + [1.0] * 4 + [6.0] * 4


class Classifier(nn.Module):
    """Which of the four sources has made a sequence of tokens?"""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, nhead=4, dim_feedforward=2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.1)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.encoder(self.tokens(sequences) + self.places).mean(dim=1))
        return scores


class LowRank(nn.Module):
    """LoRA: adds the product of two thin matrices to a frozen matrix. At first the product is zero."""

    def __init__(self, shape: torch.Size, rank: int = 4) -> None:
        super().__init__()
        rows, columns = shape
        self.up = nn.Parameter(torch.zeros(rows, rank))
        self.down = nn.Parameter(torch.randn(rank, columns) / columns**0.5)

    def forward(self, frozen: torch.Tensor) -> torch.Tensor:
        return frozen + self.up @ self.down


class MakeAdapted:
    """Makes the network that devices train. An object of a class can be sent to worker processes with its tensors."""

    def __init__(self, backbone: dict[str, torch.Tensor]) -> None:
        self.backbone = backbone

    def __call__(self) -> nn.Module:
        network = Classifier()
        network.load_state_dict(self.backbone)
        network.requires_grad_(False)
        for layer in network.encoder.layers:
            for owner, name in [
                (layer.self_attn, "in_proj_weight"),
                (layer.linear1, "weight"),
                (layer.linear2, "weight"),
            ]:
                shape = getattr(owner, name).shape
                parametrize.register_parametrization(owner, name, LowRank(shape))
        network.head = nn.Linear(WIDTH, CLASSES)
        return network


def sources(seed: int) -> npt.NDArray[np.float64]:
    """Four sources of sequences: for each, the probabilities of the next token after each token."""
    return np.random.default_rng(seed).dirichlet(np.full(TOKENS, 0.15), size=(CLASSES, TOKENS))


def sequences(chains: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], seed: int) -> TensorDataset:
    """One sequence for each label, drawn from the source of the label."""
    generator = np.random.default_rng(seed)
    drawn = np.empty((len(labels), LENGTH), np.int64)
    drawn[:, 0] = generator.integers(TOKENS, size=len(labels))
    for place in range(1, LENGTH):
        sums = chains[labels, drawn[:, place - 1]].cumsum(axis=1)
        drawn[:, place] = (generator.random((len(labels), 1)) > sums[:, :-1]).sum(axis=1)
    return TensorDataset(torch.from_numpy(drawn), torch.from_numpy(labels))


def pretrained(steps: int) -> dict[str, torch.Tensor]:
    """A backbone that was trained on public sequences, whose sources are others than those of the devices."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    labels = np.random.default_rng(1).integers(CLASSES, size=8192)
    features, targets = sequences(sources(10), labels, seed=1).tensors
    network = Classifier()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for step in range(steps):
        rows = torch.arange(step * 64, (step + 1) * 64) % len(targets)
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(features[rows]), targets[rows]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return network.state_dict()


def adam(parameters: object, lr: float) -> torch.optim.Optimizer:
    """The optimiser of a device. Every training has a new one."""
    return torch.optim.Adam(parameters, lr=lr)  # type: ignore[arg-type]


def learner(pretraining_steps: int = 300) -> ff.TorchLearner:
    """The learner: every device has more sequences of some sources than of others."""
    generator = np.random.default_rng(2)
    chains, datasets = sources(20), []
    for device in range(DEVICES):
        labels = generator.choice(
            CLASSES, size=60 + 20 * (5 * device % DEVICES), p=generator.dirichlet(np.ones(CLASSES))
        )
        datasets.append(sequences(chains, labels, seed=100 + device))
    test = sequences(chains, generator.integers(CLASSES, size=800), seed=99)
    make = MakeAdapted(pretrained(pretraining_steps))
    return ff.TorchLearner(
        make, datasets, nn.CrossEntropyLoss(), steps=10, batch=16, lr=0.003, optimizer=adam, test=test
    )


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

    work = learner(pretraining_steps=30 if short else 300)
    travelling = sum(int(np.prod(shape)) for _, shape in work.tensors())
    everything = sum(tensor.numel() for tensor in work.state_dict(work.initial(seed=1)).values())
    print(f"{travelling} of {everything} numbers travel.")

    fleet = fleet_of(work)
    plan = ff.plan(fleet, bandwidth_mbps=1, variance=0.3)
    print(plan)
    found = ff.compare(
        work,
        schemes=["auto", f"fedavg={round(plan.expected_participants)}"],
        reference="auto",
        fleet=fleet,
        bandwidth_mbps=1,
        variance=0.3,
        stop=ff.Stop("accuracy", at=0.5 if short else 0.85),
        rounds_max=30 if short else 300,
        seeds=1 if short else 3,
        workers="process",
        progress=False,
    )
    print(found)


if __name__ == "__main__":
    main()
