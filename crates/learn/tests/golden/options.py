"""Updates of PyTorch's SGD with momentum, weight decay and FedProx's term, for crates/learn/tests/local_options.rs.

Writes options.json beside this file. A device holds exactly one batch, so that every step sees the same samples whatever
their order: only the steps themselves can differ. FedProx's term is added to the loss, and autograd differentiates it.

`single_off` is the worst that PyTorch's own f32 does over several orders of the batch. One order is no measure: a sum that
rounds to the other side of a rectifier or a maximum moves all later steps, and most orders do so with momentum.
"""

import dataclasses
import json
import pathlib

import torch
from torch.nn import functional

from generate import Case, arrays_of, batch_of, digest, off, start
from torch_models import MODELS


@dataclasses.dataclass
class Options:
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0


# Large enough that every option changes the update by more than a tenth.
ALL = [
    Options(),
    Options(momentum=0.9),
    Options(weight_decay=0.5),
    Options(proximal=1.0),
    Options(momentum=0.9, weight_decay=0.5, proximal=1.0),
]
CASES = [
    Case("cnn", MODELS["mnist-cnn"], 0.05, 32, steps=20),
    Case("lstm", MODELS["shakespeare-lstm"], 0.4, 2, steps=10),
]


ORDERS = 8


def train(case, options, precision, order=None):
    """The mean of the data's losses over the steps, and by how much each array changed."""
    shuffle = torch.Generator().manual_seed(order or 0)
    module = case.model.make().to(precision)
    begin = {}
    for place, (name, array) in enumerate(arrays_of(module).items()):
        begin[name] = torch.from_numpy(start(name, tuple(array.shape), place)).view_as(array)
        array.copy_(begin[name])
    before = [parameter.detach().clone() for parameter in module.parameters()]
    optimiser = torch.optim.SGD(
        module.parameters(),
        lr=case.learning_rate,
        momentum=options.momentum,
        weight_decay=options.weight_decay,
    )
    losses = []
    for _ in range(case.steps):
        inputs, labels = batch_of(case, 0)
        if order is not None:
            places = torch.randperm(case.batch, generator=shuffle)
            inputs, labels = inputs[places], labels[places]
        optimiser.zero_grad()
        loss = functional.cross_entropy(module(inputs.to(precision)), labels)
        losses.append(loss.item())
        pairs = zip(module.parameters(), before)
        distance = sum((parameter - origin).square().sum() for parameter, origin in pairs)
        (loss + options.proximal / 2 * distance).backward()
        optimiser.step()
    changes = {name: (array.double() - begin[name]).flatten() for name, array in arrays_of(module).items()}
    return [sum(losses) / len(losses)], changes


def worst_of_orders(case, options, expected):
    """How far f32 is from the f64 result at worst."""
    offs = [off(expected, *train(case, options, torch.float32, order)) for order in range(ORDERS)]
    return {key: max(each[key] for each in offs) for key in offs[0]}


def main():
    torch.set_num_threads(1)
    rows = []
    for case in CASES:
        for options in ALL:
            (loss,), changes = train(case, options, torch.float64)
            row = {
                "model": case.name,
                "learning_rate": case.learning_rate,
                "batch": case.batch,
                "steps": case.steps,
                **dataclasses.asdict(options),
                "single_off": worst_of_orders(case, options, ([loss], changes)),
                "loss": loss,
                "arrays": [{"name": name, **digest(change)} for name, change in changes.items()],
            }
            print(f"{case.name} {options}: loss {loss:.4f}, f32 off by {row['single_off']}")
            rows.append(row)
    path = pathlib.Path(__file__).with_name("options.json")
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
