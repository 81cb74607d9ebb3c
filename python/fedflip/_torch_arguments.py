"""The arguments of a TorchLearner, checked."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.data import IterableDataset

from fedflip._arguments import count, function, number, shown
from fedflip._errors import InputError

__all__ = ["check_functions", "check_lengths", "check_sets", "checked_device", "checked_optimizer"]

_STEPS_MAX, _EPOCHS_MAX, _BATCH_MAX = 1_000_000, 10_000, 65_536


def check_functions(make_model: Any, loss: Any, **optional: Any) -> None:
    """Refuses arguments that cannot be called.

    Raises:
        InputError: With the argument, its value and a remedy.
    """
    if isinstance(make_model, nn.Module):
        problem = "make_model is a module, not a function that makes one"
        remedy = f"use lambda: {type(make_model).__name__}(…)"
        raise InputError(problem, where="make_model", value=make_model, remedy=remedy)
    function("make_model", make_model, remedy="give a function that makes a module")
    function("loss", loss, remedy="give a function of output and target, such as nn.CrossEntropyLoss()")
    if getattr(loss, "reduction", "mean") == "sum":
        problem = "is a sum over the batch, so that losses and steps grow with it"
        raise _refused("loss", loss, problem, "leave reduction out: the loss is the mean over a batch")
    if isinstance(loss, type):
        raise _refused("loss", loss, "is a class, not a loss", f"make an instance: {loss.__name__}()")
    for name, value in optional.items():
        function(name, value, optional=True)


def check_lengths(steps: Any, epochs: Any, batch: Any, lr: Any, cache_mb: Any, backbone_seed: Any) -> None:
    """Refuses numbers that are out of range."""
    if (steps is None) == (epochs is None):
        problem = f"steps is {shown(steps)} and epochs is {shown(epochs)}"
        raise InputError(problem, where="steps", value=(steps, epochs), remedy="give one of steps and epochs")
    count("steps", steps, optional=True, least=1, most=_STEPS_MAX)
    count("epochs", epochs, optional=True, least=1, most=_EPOCHS_MAX)
    count("batch", batch, least=1, most=_BATCH_MAX)
    number("lr", lr, above=0, most=1e6)
    number("cache_mb", cache_mb, least=0, remedy="give a number of megabytes, 0 for no cache")
    count("backbone_seed", backbone_seed)


def check_sets(datasets: Any, test: Any) -> None:
    """Refuses data that have no positions or no length."""
    kind = type(datasets).__name__
    if not _is_sequence(datasets):
        raise _refused(
            "datasets", datasets, f"is a {kind}, not a sequence", "give a list with one data set per device"
        )
    if len(datasets) == 0:
        raise _refused("datasets", datasets, "is empty", "give one data set per device")
    if isinstance(datasets, dict):
        raise _refused("datasets", datasets, "is a dict, not a sequence", "give list(datasets.values())")
    remedy = "give data sets with __len__ and __getitem__"
    for name, dataset, advice in [
        ("datasets[0]", datasets[0], f"{remedy}; datasets is a list of them, one per device"),
        ("test", test, remedy),
    ]:
        is_missing = name == "test" and dataset is None
        if not is_missing and (isinstance(dataset, IterableDataset) or not _is_sequence(dataset)):
            problem = f"is {shown(dataset)}, which has no positions or no length"
            raise _refused(name, dataset, problem, advice)
        # One sample, or all inputs and all targets, where a data set should be.
        if isinstance(dataset, tuple) and any(isinstance(part, torch.Tensor) for part in dataset):
            problem = f"is {shown(dataset)}, a tuple of tensors and not a data set"
            advice = (
                "give TensorDataset(inputs, targets) for each device, in a list with one data set per device"
            )
            raise _refused(name, dataset, problem, advice)


def checked_device(device: Any) -> torch.device | None:
    """A device that torch knows; None for the default."""
    if device is None:
        return None
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        problem = f"is {shown(device)}, which torch does not know: {str(error).splitlines()[0]}"
        raise _refused("device", device, problem, "give a device such as 'cpu' or 'cuda:0'") from None


def checked_optimizer(made: Any) -> Any:
    """What the function ``optimizer`` returned, if it can make steps."""
    if callable(getattr(made, "step", None)) and not isinstance(made, type):
        return made
    remedy = "return the optimiser, as in lambda params, lr: torch.optim.Adam(params, lr)"
    raise _refused("optimizer", made, f"returned {shown(made)}, which has no method step", remedy)


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, str | bytes)


def _refused(name: str, value: Any, problem: str, remedy: str) -> InputError:
    return InputError(f"{name} {problem}", where=name, value=value, remedy=remedy)
