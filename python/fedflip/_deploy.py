"""What the native server and the native device call: learners, first models and evaluations of one's own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip._arguments import shown
from fedflip._errors import InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_checks import DivergedError, metric_name, sum_and_weight
from fedflip._learner_failure import own_traceback
from fedflip._learner_layout import Layout
from fedflip._metrics import Direction, direction

__all__ = ["Evaluation", "FirstModel", "Preparation", "Training"]

Array = npt.NDArray[np.float32]
Tensors = list[tuple[str, tuple[int, ...]]]

#: What a slot adds to the seed of a learner with data of one device: 2⁶⁴ divided by the golden ratio.
_STRIDE = 0x9E37_79B9_7F4A_7C15
_SEED_MAX = 2**63 - 1


class Preparation:
    """Makes the training of a device from a learner, or from a function that makes one, once a server offers a task.

    Args:
        learner: A ``Learner``, or a function from the task's settings to one.
        timeout_secs: The time limit of one call of the learner.
        device: Which device of the learner this process is; None leaves the choice to the slot.
    """

    def __init__(self, learner: Any, timeout_secs: float | None = None, device: int | None = None) -> None:
        self._make: Callable[[dict[str, Any]], Any] | None = None
        self._flat: FlatLearner | None = None
        self._timeout_secs = timeout_secs
        self._device = device
        if isinstance(learner, type) or not callable(learner) or hasattr(learner, "train"):
            self._flat = FlatLearner(learner, timeout_secs)
            _check_device(device, self._flat)
        else:
            self._make = learner

    def __call__(self, task: str, settings: str, tensors: Tensors) -> Training:
        """The training of a task with these tensors.

        Raises:
            InputError: If the learner's tensors are others.
            LearnerError: If the learner cannot be made.
        """
        wanted = [(name, tuple(shape)) for name, shape in tensors]
        flat = self._flat if self._make is None else self._made(self._make, settings)
        assert flat is not None
        _check_device(self._device, flat)
        found = flat.tensors()
        if sorted(found) != sorted(wanted):
            raise InputError(
                f"the learner's tensors are not those of the server's task {task}: {_first_difference(found, wanted)}\n"
                f"  learner: {_listed(found)}\n  server:  {_listed(wanted)}",
                where="learner",
                value=found,
                remedy="build the model that the server's first model belongs to, with the same names and shapes",
            )
        return Training(flat, wanted, self._device)

    def _made(self, make: Callable[[dict[str, Any]], Any], settings: str) -> FlatLearner:
        try:
            learner = make(tomllib.loads(settings))
        except (Exception, SystemExit) as error:
            raise LearnerError(
                f"the function that makes the learner failed: {type(error).__name__}: {error}",
                traceback=own_traceback(error),
                remedy="correct the function; its argument is [task.settings] of the server's scenario as a dict",
            ) from error
        return FlatLearner(learner, self._timeout_secs)


class Training:
    """A learner on one device: models and updates have the server's order of tensors.

    Args:
        flat: The learner.
        tensors: The tensors of the server's model, in its order.
        device: Which device of the learner trains here, whatever its slot. By default a learner with data of one device is
            device 0, and otherwise the slot chooses.
    """

    def __init__(self, flat: FlatLearner, tensors: Tensors, device: int | None = None) -> None:
        self._flat = flat
        self._order = _order(flat.tensors(), tensors)
        self._device = 0 if flat.devices == 1 else device

    def counts(self) -> list[int]:
        """The number of samples of this device alone; of each device of the learner if the slot chooses among them."""
        devices = range(self._flat.devices) if self._device is None else [self._device]
        return [self._flat.samples(device) for device in devices]

    def initial(self, seed: int) -> Array:
        """A model to time the device with."""
        return self._to_server(self._flat.initial(seed))

    def train(
        self, model: Array, seed: int, round: int, slot: int, rate_factor: float
    ) -> tuple[Array, float, int]:
        """The update, the training loss, and the number of samples.

        The slot of a learner with data of one device moves the seed, so that two devices do not draw the same random numbers.
        """
        device = slot if self._device is None else self._device
        if self._flat.devices == 1:
            seed = (seed + slot * _STRIDE) & _SEED_MAX
        update, loss = self._flat.train(self._to_learner(model), TrainKey(seed, round, device, rate_factor))
        if not np.isfinite(update).all():
            raise DivergedError(
                f"device {device}, round {round}: the update has NaN or infinite numbers",
                device=device,
                round=round,
                remedy="lower the learning rate",
            )
        return self._to_server(update), loss, self._flat.samples(device)

    def _to_learner(self, model: Array) -> Array:
        return _reordered(model, self._order)

    def _to_server(self, numbers: Array) -> Array:
        return numbers if self._order is None else numbers[self._order]


class FirstModel:
    """The model before the first round: named arrays, or what a learner makes from the seed."""

    def __init__(self, initial: Any) -> None:
        self._learner: FlatLearner | None = None
        self._flat: Array | None = None
        if isinstance(initial, Mapping):
            try:
                self._layout = Layout.of({name: _array(value) for name, value in initial.items()}, "initial")
                self._flat = self._layout.joined(
                    {name: _array(value) for name, value in initial.items()}, "initial"
                )
            except LearnerError as error:
                raise InputError(error.problem, where="initial", value=initial, remedy=error.remedy) from None
            if not np.isfinite(self._flat).all():
                raise InputError(
                    "initial has NaN or infinite numbers",
                    where="initial",
                    value=[name for name, value in initial.items() if not np.isfinite(_array(value)).all()],
                    remedy="correct the initialisation of the model",
                )
        elif hasattr(initial, "train"):
            self._learner = FlatLearner(initial)
        else:
            raise InputError(
                f"initial is {shown(initial)}, which is not a model",
                where="initial",
                value=initial,
                remedy="give a dict of float32 arrays by name, the path of a safetensors file, or a learner",
            )

    @property
    def learner(self) -> FlatLearner | None:
        """The learner that makes the model, if it is one."""
        return self._learner

    def tensors(self) -> Tensors:
        """The names and shapes, sorted by name."""
        return self._learner.tensors() if self._learner is not None else list(self._layout.tensors)

    def model(self, seed: int) -> Array:
        """The numbers, in the order of ``tensors``."""
        if self._learner is not None:
            return self._learner.initial(seed)
        assert self._flat is not None
        return self._flat


class Evaluation:
    """An evaluation on the server: a flat model in, the names and values of metrics out.

    Args:
        evaluate: A function of a dict of arrays, or a ``FlatLearner`` that evaluates.
    """

    def __init__(self, evaluate: Callable[[dict[str, Array]], Any] | FlatLearner) -> None:
        if not isinstance(evaluate, FlatLearner) and not callable(evaluate):
            raise InputError(
                f"evaluate is {shown(evaluate)}, which cannot be called",
                where="evaluate",
                value=evaluate,
                remedy="give a function from a dict of arrays to a dict of metrics",
            )
        self._evaluate = evaluate

    @property
    def declared(self) -> dict[str, Direction]:
        """The metrics that a learner declares; none of a function."""
        return (self._evaluate.declared or {}) if isinstance(self._evaluate, FlatLearner) else {}

    def mode(self, name: str) -> Direction:
        """Whether a metric is better when it is larger or smaller: as the learner declares it, or as its name says."""
        if isinstance(self._evaluate, FlatLearner):
            return self._evaluate.metrics.get(name, direction(name))
        return direction(name)

    def __call__(self, model: Array, tensors: Tensors) -> list[tuple[str, float]]:
        """The metrics of a model, the headline first.

        Raises:
            LearnerError: If the function fails, or returns something else than metrics.
        """
        if isinstance(self._evaluate, FlatLearner):
            wanted = [(name, tuple(shape)) for name, shape in tensors]
            answer: Any = self._evaluate.evaluate(_reordered(model, _order(self._evaluate.tensors(), wanted)))
        else:
            try:
                answer = self._evaluate(_named(model, tensors))
            except (Exception, SystemExit) as error:
                raise LearnerError(
                    f"evaluate failed: {type(error).__name__}: {error}",
                    traceback=own_traceback(error),
                    remedy="correct the function, then serve the run again: it resumes",
                ) from error
        if not isinstance(answer, Mapping):
            raise LearnerError(
                f"evaluate returned {shown(answer)}, but it must return a mapping",
                remedy='return {"accuracy": (correct, count)}, or {"accuracy": 0.9}',
            )
        found = []
        for name, value in answer.items():
            total, weight = sum_and_weight(metric_name(name), value)
            found.append((name, total / weight))
        return found


def _check_device(device: int | None, flat: FlatLearner) -> None:
    """Refuses a device that the learner has no data of."""
    if device is not None and device >= flat.devices:
        last = flat.devices - 1
        raise InputError(
            f"device is {device}, but the learner has data of {flat.devices} {'devices' if last else 'device'}",
            where="device",
            value=device,
            remedy=f"give a whole number from 0 to {last}" if last else "leave device out, or write device=0",
        )


def _order(learners: Tensors, servers: Tensors) -> npt.NDArray[np.intp] | None:
    """The learner's place of each number of the server's model; None if both have the same order."""
    if learners == servers:
        return None
    places, first = {}, 0
    for name, shape in learners:
        places[name] = np.arange(first, first + math.prod(shape))
        first += math.prod(shape)
    return np.concatenate([places[name] for name, _ in servers])


def _reordered(model: Array, order: npt.NDArray[np.intp] | None) -> Array:
    """The server's model in the learner's order."""
    if order is None:
        return model
    lent = np.empty_like(model)
    lent[order] = model
    lent.flags.writeable = False
    return lent


def _named(model: Array, tensors: Tensors) -> dict[str, Array]:
    """The tensors of a flat model as views, in the order in which the model holds them."""
    named, first = {}, 0
    for name, shape in tensors:
        last = first + math.prod(shape)
        named[name] = model[first:last].reshape(shape)
        first = last
    return named


def _array(value: Any) -> Any:
    """The value as an array, if it is a tensor of torch."""
    detach = getattr(value, "detach", None)
    return detach().cpu().numpy() if callable(detach) else value


def _first_difference(found: Tensors, wanted: Tensors) -> str:
    mine, theirs = dict(found), dict(wanted)
    for name in sorted({*mine, *theirs}):
        if name not in theirs:
            return f"the server has no {name!r}"
        if name not in mine:
            return f"the learner has no {name!r}"
        if mine[name] != theirs[name]:
            return f"{name!r} is {mine[name]} here and {theirs[name]} there"
    return "one has a tensor twice"


def _listed(tensors: Tensors, most: int = 20) -> str:
    listed = ", ".join(f"{name} {list(shape)}" for name, shape in tensors[:most])
    return f"{listed}, and {len(tensors) - most} more" if len(tensors) > most else listed
