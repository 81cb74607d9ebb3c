"""Losses and parameters of PyTorch over fifty steps of SGD, for crates/learn/tests/against_pytorch.rs.

Writes <case>.json beside this file, and then runs options.py. Parameters and batches come from a formula that Rust repeats to the bit
(`number` below), rounded to f32, so only results are stored: the loss of every step, and for each parameter
array a digest of what the steps changed. The digest is the root mean square of the change and its products
with four vectors of pseudo-random signs and sizes: an entry that is wrong, missing, or in another's place (a
transposed weight) changes all of them.

Every case is computed in f64, and again in f32: `single_off` is how far PyTorch's own f32 is from its f64, the
measure of what any right implementation in f32 can be held to. Made on one thread of a CPU; another
version or machine differs in the last digits.
"""

import json
import math
import pathlib
from dataclasses import dataclass

import numpy
import torch
from torch import nn
from torch.nn import functional

from torch_models import MODELS, MobileNet, Model, group_norm

PROJECTIONS = 4
# Batches take turns, so that the losses fall and the parameters go somewhere.
BATCHES = 5


@dataclass
class Case:
    name: str
    model: Model
    learning_rate: float
    batch: int
    steps: int = 50


def small_mobilenet(norm):
    return Model(lambda: MobileNet(0.25, norm), 3072, 10)


CASES = [
    Case("cnn", MODELS["mnist-cnn"], 0.01, 32),
    Case("wide_cnn", MODELS["mnist-cnn-wide"], 0.01, 8),
    Case("lstm", MODELS["shakespeare-lstm"], 0.8, 2),
    Case("mobilenet_group", small_mobilenet(group_norm), 0.01, 8),
    Case("mobilenet_batch", small_mobilenet(nn.BatchNorm2d), 0.001, 16, steps=20),
]


def number(index):
    """A number in [-1, 1) for each index: a multiplicative hash, the same in any language."""
    mixed = (numpy.asarray(index, dtype=numpy.uint64) * 2654435761 + 12345) % (1 << 32)
    mixed = (mixed ^ (mixed >> numpy.uint64(15))) * 2246822519 % (1 << 32)
    return mixed.astype(numpy.float64) / (1 << 31) - 1.0


def rounded(values):
    """To f32 and back, so that both precisions start from the same numbers."""
    return values.astype(numpy.float32).astype(numpy.float64)


def arrays_of(module):
    """Parameters and running statistics by name, in the order of fedflip's flat vector."""
    return {name: array for name, array in module.state_dict().items() if "num_batches" not in name}


def start(name, shape, place):
    values = number(numpy.arange(math.prod(shape)) + 1_000_003 * (place + 1))
    if len(shape) > 1:
        return rounded(values / math.sqrt(math.prod(shape[1:])))
    centre = 1.0 if name.endswith("norm.weight") or name.endswith("running_var") else 0.0
    return rounded(centre + 0.1 * values)


def batch_of(case, step):
    """A batch whose labels can be learned: a stripe of the image, or the last symbol, tells them."""
    features, classes = case.model.features, case.model.classes
    samples = numpy.arange(case.batch) + step % BATCHES * case.batch
    values = number(samples[:, None] * features + numpy.arange(features)[None, :])
    labels = ((number(samples + 77_777_777) + 1) / 2 * classes).astype(numpy.int64)
    if case.model.symbols:
        values = numpy.floor((values + 1) / 2 * classes)
        values[:, -1] = labels
    else:
        values += numpy.arange(features)[None, :] * classes // features == labels[:, None]
    return torch.from_numpy(rounded(values)), torch.from_numpy(labels)


def train(case, precision):
    """The losses, and by how much each array changed."""
    module = case.model.make().to(precision)
    begin = {}
    for place, (name, array) in enumerate(arrays_of(module).items()):
        begin[name] = torch.from_numpy(start(name, tuple(array.shape), place)).view_as(array)
        array.copy_(begin[name])
    optimiser = torch.optim.SGD(module.parameters(), lr=case.learning_rate)
    losses = []
    for step in range(case.steps):
        inputs, labels = batch_of(case, step)
        optimiser.zero_grad()
        loss = functional.cross_entropy(module(inputs.to(precision)), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    changes = {name: (array.double() - begin[name]).flatten() for name, array in arrays_of(module).items()}
    return losses, changes


def digest(change):
    """The root mean square, and products with pseudo-random vectors over the root of the vectors' squares."""
    place = numpy.arange(change.numel())
    vectors = [torch.from_numpy(number(place * PROJECTIONS + k + 999_999_937)) for k in range(PROJECTIONS)]
    projections = [(change @ vector / (vector @ vector).sqrt()).item() for vector in vectors]
    return {"rms": change.square().mean().sqrt().item(), "projections": projections}


def off(expected, losses, changes):
    """How far losses are from the expected ones, relative; and changes, relative to their own size."""
    loss = max(abs(ours / theirs - 1) for ours, theirs in zip(losses, expected[0]))
    norms = [((changes[name] - theirs).norm() / theirs.norm()).item() for name, theirs in expected[1].items()]
    return {"loss": loss, "change": max(norms)}


def main():
    torch.set_num_threads(1)
    for case in CASES:
        losses, changes = train(case, torch.float64)
        single_off = off((losses, changes), *train(case, torch.float32))
        head = {
            "torch": torch.__version__,
            "learning_rate": case.learning_rate,
            "batch": case.batch,
            "symbols": case.model.symbols,
            "single_off": single_off,
            "losses": losses,
        }
        arrays = [{"name": name, **digest(change)} for name, change in changes.items()]
        # A line an array: what changed can be read in a diff.
        text = json.dumps(head)[:-1] + ', "arrays": [\n' + ",\n".join(map(json.dumps, arrays)) + "\n]}\n"
        path = pathlib.Path(__file__).with_name(f"{case.name}.json")
        path.write_text(text)
        print(f"{path.name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, f32 off by {single_off}")


if __name__ == "__main__":
    main()
    import options

    options.main()
