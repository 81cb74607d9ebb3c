"""Checks of a learner and of what it returns, with messages that say what to change."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Mapping
from typing import Any

from fedflip import _arguments as argument
from fedflip._arguments import shown
from fedflip._errors import InputError, LearnerError
from fedflip._learner_layout import Layout
from fedflip._metrics import METRIC_NAME_RULE, is_metric_name

__all__ = ["DivergedError"]


class DivergedError(LearnerError):
    """Training or evaluation gave NaN or infinity. A run ends for this reason, as it does with native tasks.

    Attributes:
        what: What is NaN or infinite, for the end of the run's records.
    """

    what = "model"


def not_finite(what: str, value: float, device: int | None = None) -> DivergedError:
    """The error about a number that is NaN or infinite."""
    error = DivergedError(f"the {what} is {value}", remedy="lower the learning rate")
    error.what = what if device is None else f"{what} of device {device}"
    return error


#: Names that a learner must have, in the order in which a message lists them.
_NEEDED = ("devices", "samples", "initial", "train", "evaluate")


def checked_timeout(timeout_secs: Any) -> float | None:
    """A time limit, checked."""
    remedy = "give a limit above 0 that the slowest training never reaches, or None"
    limit = argument.number("timeout_secs", timeout_secs, optional=True, above=0, remedy=remedy)
    # What Python can wait for is a matter of the machine.
    return None if limit is None else min(limit, threading.TIMEOUT_MAX)


def checked_learner(learner: Any, where: str = "learner") -> Any:
    """The argument, if it has the attributes and methods of a learner."""
    missing = [name for name in _NEEDED if not hasattr(learner, name)]
    if isinstance(learner, type):
        problem, remedy = (
            f"{learner.__name__} is a class, not a learner",
            f"make an instance: {learner.__name__}(…)",
        )
    elif not missing:
        return learner
    else:
        problem = f"{type(learner).__name__} is not a learner: it lacks {', '.join(missing)}"
        remedy = "add the attributes and methods that fedflip.Learner describes"
        if hasattr(learner, "state_dict") and hasattr(learner, "forward"):
            remedy = "make a learner from a torch module: fedflip.TorchLearner(make_model, datasets, loss, …)"
    raise InputError(problem, where=where, value=learner, remedy=remedy)


_DEVICES_MAX = 2**32 - 1


def checked_devices(learner: Any) -> int:
    """The number of devices of a learner."""
    try:
        devices = operator.index(learner.devices)
    except TypeError:
        devices = 0
    if not 1 <= devices <= _DEVICES_MAX:
        raise InputError(
            f"devices of the learner is {shown(learner.devices)}; it must be a whole number from 1 to {_DEVICES_MAX:,}",
            where="learner.devices",
            value=learner.devices,
            remedy="let devices be the number of devices that hold data; it is not a method",
        )
    return devices


def number(value: Any, what: str, device: int | None = None) -> float:
    """A number that a learner returned, of any type that is one."""
    try:
        return float(value)
    except Exception:
        # Also numbers that are too large, and objects of other libraries with exceptions of their own.
        raise LearnerError(
            f"{what} is {shown(value)}, not a number",
            device=device,
            remedy="return a float, such as loss.item()",
        ) from None


def in_words(metrics: Mapping[str, Any]) -> str:
    """The names of metrics in a sentence."""
    return ", ".join(metrics) or "no metric"


def metric_name(name: Any) -> str:
    """The name of a metric."""
    if not is_metric_name(name):
        raise LearnerError(
            f"evaluate returned a metric named {shown(name)}", remedy=f"use names of {METRIC_NAME_RULE}"
        )
    return str(name)


def sum_and_weight(name: str, value: Any) -> tuple[float, float]:
    """A metric as sum and weight."""
    weight = 1.0
    if isinstance(value, tuple):
        if len(value) != 2:
            raise LearnerError(
                f"evaluate returned {shown(value)} for {name!r}",
                remedy="return a number, or a tuple of sum and weight",
            )
        weight = number(value[1], f"the weight of the metric {name!r}")
        if not (0 < weight < math.inf):
            raise LearnerError(
                f"the weight of the metric {name!r} is {weight}; it must be above 0",
                remedy="evaluate at least one sample",
            )
        value = value[0]
    total = number(value, f"the metric {name!r}")
    if not math.isfinite(total):
        raise not_finite(f"metric {name!r}", total)
    return total, weight


def difference(old: Layout, new: Layout) -> str:
    """The first tensor in which two layouts differ, in words."""
    before, after = dict(old.tensors), dict(new.tensors)
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if not names:
        return "one is a flat array, the other has names"
    return f"{names[0]!r} was {before.get(names[0], 'missing')} and is {after.get(names[0], 'missing')}"
