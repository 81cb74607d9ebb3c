"""Learners as fedflip calls them: with flat arrays, and with every answer checked."""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import numpy as np

from fedflip._arguments import shown
from fedflip._errors import InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner_checks import (
    DivergedError,
    checked_devices,
    checked_learner,
    checked_timeout,
    difference,
    in_words,
    metric_name,
    not_finite,
    number,
    sum_and_weight,
)
from fedflip._learner_failure import COPY_FIRST, end_fork, raise_failure
from fedflip._learner_layout import Array, Layout
from fedflip._learner_loan import Loan
from fedflip._learner_protocol import Learner
from fedflip._learner_watch import Watch
from fedflip._metrics import Direction, checked_directions, direction

__all__ = ["DivergedError", "FlatLearner", "Learner"]


class FlatLearner:
    """A learner as fedflip calls it: models and updates are flat arrays, and every answer is checked.

    The adapter refuses answers of the wrong type, dtype or shape, turns exceptions into ``LearnerError`` with device and
    round, and reports a learner that writes to the model it was lent. Numpy refuses such a write itself; a write
    through torch is found by comparing all numbers of the model. The adapter does not look for NaN in updates:
    the engine does so when it adds them up. Arrays that are not contiguous are copied. Calls from several threads wait for
    each other, because most learners use global generators.

    Args:
        learner: Any ``Learner``.
        timeout_secs: The time limit of one call; none by default. The call then runs on a helper thread. Python code that
            hangs is stopped; native code that hangs is abandoned, and only worker processes can end it.

    Raises:
        InputError: If the object lacks a member of ``Learner``.
    """

    def __init__(self, learner: Any, timeout_secs: float | None = None) -> None:
        self._learner: Any = checked_learner(learner.learner if isinstance(learner, FlatLearner) else learner)
        self.timeout_secs = checked_timeout(timeout_secs)
        self.devices: int = checked_devices(self._learner)
        self._layout: Layout | None = None
        self._metrics: dict[str, Direction] | None = None
        self._assumed: dict[str, Direction] = {}
        self._ready()

    def _ready(self) -> None:
        """Makes what does not travel to other processes."""
        self._lock = threading.RLock()
        self._watch = Watch(self.timeout_secs) if self.timeout_secs is not None else None
        self._loan: Loan | None = None
        self._is_closed = False

    def __getstate__(self) -> dict[str, Any]:
        process = ("_lock", "_watch", "_loan", "_is_closed")
        return {name: value for name, value in self.__dict__.items() if name not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def __repr__(self) -> str:
        return f"FlatLearner({self._learner!r})"

    @property
    def learner(self) -> Any:
        """The learner that the caller passed."""
        return self._learner

    @property
    def size(self) -> int:
        """The number of parameters of the model."""
        return self._known().size

    def samples(self, device: int) -> int:
        """The number of samples that a device holds."""
        count = self._call(f"samples({device})", device, None, self._learner.samples, device)
        try:
            if 0 <= (samples := operator.index(count)) < 2**53:
                return samples
        except TypeError:
            pass
        raise LearnerError(
            f"samples({device}) of the learner is {shown(count)}; it must be a whole number, 0 or more",
            device=device,
            remedy="return len(dataset)",
        )

    def relative_cost(self, device: int) -> int:
        """How long training on a device takes, in any unit; 1 if the learner does not say."""
        cost = getattr(self._learner, "relative_cost", None)
        return (
            1
            if cost is None
            else max(0, int(self._call(f"relative_cost({device})", device, None, cost, device)))
        )

    def tensors(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the tensors of a model, sorted by name, as a flat model holds them.

        The layout follows from ``initial``, which is called with the seed 0 if it was not called yet.
        """
        return list(self._known().tensors)

    def initial(self, seed: int) -> Array:
        """The model before the first round, flat and contiguous."""
        what = f"initial({seed})"
        with self._lock:
            model = self._call(what, None, None, self._learner.initial, seed)
            layout = Layout.of(model, what)
            tensors = getattr(self._learner, "tensors", None)
            if tensors is not None and not layout.named:
                named = Layout.declared(self._call("tensors()", None, None, tensors), "tensors()")
                if named.size != layout.size:
                    raise LearnerError(
                        f"tensors() of the learner has {named.size:,} parameters, but {what} has {layout.size:,}",
                        remedy="list the shapes of all tensors in the flat array",
                    )
                layout = named
            if self._layout is not None and self._layout != layout:
                raise LearnerError(
                    f"{what} has other tensors than an earlier call: {difference(self._layout, layout)}",
                    remedy="return the same names and shapes for every seed",
                )
            self._layout = layout
            flat = layout.joined(model, what)
        if not np.isfinite(flat).all():
            raise DivergedError(
                f"{what} has NaN or infinite parameters", remedy="correct the initialisation of the model"
            )
        return flat

    def train(self, model: Array, key: TrainKey) -> tuple[Array, float]:
        """The update of one device, flat and contiguous, and the mean loss of its steps.

        The array may be one that the learner uses again: copy it before the next call.
        """
        with self._lock:
            self._is_closed = False
            loan = self._lend(model)
            lent = loan.lent
            here = os.getpid()
            try:
                if self._watch is None:
                    answer = self._learner.train(lent, key)
                else:
                    answer = self._watch.run(lambda: self._learner.train(lent, key))
                end_fork(here)
            except (Exception, SystemExit) as error:
                end_fork(here)
                loan.mend()
                self._fail(
                    error, f"training on device {key.device} in round {key.round}", key.device, key.round
                )
            try:
                if type(answer) is not tuple or len(answer) != 2:
                    raise LearnerError(
                        f"train returned {shown(answer)}, but it must return a tuple of update and loss",
                        remedy="return update, loss",
                    )
                layout = cast(Layout, self._layout)
                update, loss = answer
                if (
                    type(update) is not np.ndarray
                    or update.shape != layout.shape
                    or update.dtype.char != "f"
                    or layout.named
                    or not (update.flags.c_contiguous and update.flags.aligned)
                    or not update.dtype.isnative
                ):
                    update = layout.joined(update, "the update")
                if type(loss) is not float:
                    loss = number(loss, "the loss that train returned")
                if not math.isfinite(loss):
                    raise not_finite("training loss", loss, key.device)
                self._check_unchanged(loan, "train")
            except LearnerError as error:
                loan.mend()
                error.problem = f"device {key.device}, round {key.round}: {error.problem}"
                self._fail(error, "", key.device, key.round)
            return update, loss

    def loss(self, model: Array, device: int) -> float:
        """The mean loss of a model on the samples of a device.

        Raises:
            LearnerError: If the learner has no method ``loss``, or the method fails.
        """
        if not self.has_loss:
            raise LearnerError(
                f"{type(self._learner).__name__} has no method loss(model, device), and the scheme asks for it",
                device=device,
                remedy="add the method to the learner, or use a scheme that does not ask for losses, such as auto",
            )
        with self._lock:
            loan = self._lend(model)
            answer = self._call(
                f"loss on device {device}", device, None, self._learner.loss, loan.lent, device
            )
            self._check_unchanged(loan, "loss")
            loss = number(answer, f"the loss on device {device}", device=device)
        if not math.isfinite(loss):
            raise DivergedError(
                f"the loss on device {device} is {loss}", device=device, remedy="lower the learning rate"
            )
        return loss

    @property
    def has_loss(self) -> bool:
        """Whether the learner can compute the loss of a model on a device's own samples."""
        return callable(getattr(self._learner, "loss", None))

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """The metrics of a model as sum and weight; a plain value has the weight 1."""
        with self._lock:
            loan = self._lend(model)
            answer = self._call("evaluate", None, None, self._learner.evaluate, loan.lent)
            self._check_unchanged(loan, "evaluate")
        if not isinstance(answer, Mapping):
            raise LearnerError(
                f"evaluate returned {shown(answer)}, but it must return a mapping",
                remedy='return {"accuracy": (correct, count)}, or {} if there is nothing to evaluate',
            )
        metrics = {metric_name(name): sum_and_weight(name, value) for name, value in answer.items()}
        declared = self.declared
        if declared is not None and metrics.keys() != declared.keys():
            raise LearnerError(
                f"evaluate returned {in_words(metrics)}, but metrics of the learner has {in_words(declared)}",
                remedy="let both have the same names",
            )
        if self._metrics is None and declared is None:
            self._metrics = {name: self._assumed.get(name, direction(name)) for name in metrics}
        return metrics

    @property
    def declared(self) -> dict[str, Direction] | None:
        """The metrics that the learner declares, with their directions; None if it declares none."""
        # A property may run code of the user, which may fail.
        declared = self._call("metrics", None, None, getattr, self._learner, "metrics", None)
        return None if declared is None else checked_directions(declared)

    def _assume(self, name: str, better: Direction) -> None:
        """Sets the direction of a metric for a learner that declares no metrics. Call it before the first evaluation."""
        self._assumed[name] = better

    @property
    def metrics(self) -> dict[str, Direction]:
        """The names of the metrics, the headline first, and whether larger or smaller values are better.

        They are those that the learner declares. Otherwise the first model is evaluated once, for the names.
        """
        declared = self.declared
        if declared is not None:
            return declared
        if self._metrics is None:
            self.evaluate(self.initial(0))
        return dict(self._metrics or {})

    def close(self) -> None:
        """Tells the learner that no more calls come. It is told once, until the next call."""
        if self._is_closed:
            return
        close = getattr(self._learner, "close", None)
        try:
            if callable(close):
                self._call("close", None, None, close)
        finally:
            self._is_closed = True
            # Last, because a call would start the helper thread again.
            if self._watch is not None:
                self._watch.close()

    def _known(self) -> Layout:
        if self._layout is None:
            self.initial(0)
        return cast(Layout, self._layout)

    def _lend(self, model: Array) -> Loan:
        """The model as the learner sees it. All devices of a round get the same loan."""
        known = self._loan
        if known is not None and known.model is model and known.is_lasting and not model.flags.writeable:
            return known
        layout = self._known()
        if type(model) is not np.ndarray or model.shape != layout.shape or model.dtype != np.float32:
            raise InputError(
                f"the model is {shown(model)}, but the learner has models of {layout.size:,} float32 parameters",
                where="model",
                value=model,
                remedy="use a model of this learner, flat and float32",
            )
        self._loan = Loan(model, layout)
        return self._loan

    @staticmethod
    def _check_unchanged(loan: Loan, what: str) -> None:
        if not loan.is_unchanged:
            loan.mend()
            raise LearnerError(f"{what} changed the model it was lent", remedy=COPY_FIRST)

    def _call(
        self, what: str, device: int | None, round: int | None, method: Callable[..., Any], *args: Any
    ) -> Any:
        self._is_closed = False
        here = os.getpid()
        try:
            return method(*args) if self._watch is None else self._watch.run(lambda: method(*args))
        except (Exception, SystemExit) as error:
            end_fork(here)
            self._fail(error, what, device, round)
        finally:
            end_fork(here)

    def _fail(self, error: BaseException, what: str, device: int | None, round: int | None) -> NoReturn:
        raise_failure(error, what, device, round, self.timeout_secs)
