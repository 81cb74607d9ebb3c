"""The arguments of a TorchLearner, checked."""

from __future__ import annotations

import math
from typing import Any

from torch import nn
from torch.utils.data import IterableDataset

from fedflip._errors import InputError

__all__ = ["checked_arguments"]


def checked_arguments(
    make_model: Any, datasets: Any, loss: Any, steps: Any, epochs: Any, batch: Any, lr: Any, cache_mb: Any
) -> None:
    """Refuses arguments that cannot be used, each by its name.

    Raises:
        InputError: With the argument, its value and a remedy.
    """
    if isinstance(make_model, nn.Module):
        name = type(make_model).__name__
        raise _error(
            "make_model", make_model, "is a module, not a function that makes one", f"use lambda: {name}(…)"
        )
    for name, function in [("make_model", make_model), ("loss", loss)]:
        if not callable(function):
            raise _error(name, function, f"is {function!r}, which cannot be called", "give a function")
    _check_datasets(datasets)
    if (steps is None) == (epochs is None):
        both = (steps, epochs)
        raise _error("steps", both, f"is {steps!r} and epochs is {epochs!r}", "give one of steps and epochs")
    limits = [("steps", steps, 0, 1_000_000), ("epochs", epochs, 1, 10_000), ("batch", batch, 1, 65_536)]
    for name, number, least, most in limits:
        if number is not None and (
            not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most
        ):
            raise _error(name, number, f"is {number!r}", f"give a whole number from {least} to {most}")
    if not isinstance(lr, (int, float)) or not 0 < lr <= 1e6:
        raise _error("lr", lr, f"is {lr!r}", "give a number above 0, at most 1e6")
    if not isinstance(cache_mb, (int, float)) or not 0 <= cache_mb < math.inf:
        raise _error("cache_mb", cache_mb, f"is {cache_mb!r}", "give a number of megabytes, 0 for no cache")


def _check_datasets(datasets: Any) -> None:
    if not (hasattr(datasets, "__len__") and hasattr(datasets, "__getitem__")):
        kind = type(datasets).__name__
        raise _error(
            "datasets", datasets, f"is a {kind}, not a sequence", "give a list with one data set per device"
        )
    if len(datasets) == 0:
        raise _error("datasets", datasets, "is empty", "give one data set per device")
    if isinstance(datasets, dict):
        raise _error("datasets", datasets, "is a dict, not a sequence", "give list(datasets.values())")
    first = datasets[0]
    if isinstance(first, IterableDataset) or not (
        hasattr(first, "__len__") and hasattr(first, "__getitem__")
    ):
        raise InputError(
            f"datasets[0] is a {type(first).__name__}, which has no positions or no length",
            where="datasets[0]",
            value=first,
            remedy="give data sets with __len__ and __getitem__; datasets is a list of them, one per device",
        )


def _error(name: str, value: Any, problem: str, remedy: str) -> InputError:
    return InputError(f"{name} {problem}", where=name, value=value, remedy=remedy)
