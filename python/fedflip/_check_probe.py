"""Trainings whose results are compared to the byte."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fedflip._errors import LearnerError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_layout import Array
from fedflip._process_crew import ProcessCrew

__all__ = ["Difference", "GlobalState", "Outcome", "Probe", "changed_seed", "thread_count"]


class Difference(NamedTuple):
    """Where two results of one training differ."""

    #: The tensors that differ, each with the largest difference and the share of its numbers that differ.
    tensors: tuple[tuple[str, float, float], ...]
    #: The two losses.
    losses: tuple[float, float]
    #: The number of tensors of the model.
    total: int

    def __str__(self) -> str:
        if not self.tensors:
            return f"the updates are equal, but the losses are {self.losses[0]!r} and {self.losses[1]!r}"
        name, largest, share = max(self.tensors, key=lambda tensor: tensor[1])
        return (
            f"{len(self.tensors)} of {self.total} tensors differ, most in {name!r}: "
            f"by up to {largest:.2g}, in {share:.0%} of its numbers"
        )


class Outcome(NamedTuple):
    """The result of one training, with what is needed to compare it."""

    update: Array
    loss: float
    tensors: list[tuple[str, tuple[int, ...]]]
    secs: float

    @property
    def is_finite(self) -> bool:
        """Whether all numbers of the update are finite."""
        return bool(np.isfinite(self.update).all())

    def difference(self, other: Outcome) -> Difference | None:
        """Where another result differs; None if both have the same bytes."""
        if self.update.tobytes() == other.update.tobytes() and self.loss == other.loss:
            return None
        differing, first = [], 0
        for name, shape in self.tensors:
            last = first + int(np.prod(shape))
            one, two = self.update[first:last], other.update[first:last]
            unequal = one.view(np.int32) != two.view(np.int32)
            if unequal.any():
                gap = np.abs(one.astype(np.float64) - two)
                differing.append((name, float(np.nanmax(gap, initial=0.0)), float(unequal.mean())))
            first = last
        return Difference(tuple(differing), (self.loss, other.loss), len(self.tensors))


class Probe:
    """One training that is repeated.

    Args:
        flat: The learner.
        model: The model to train from.
        key: The key to train.
    """

    def __init__(self, flat: FlatLearner, model: Array, key: TrainKey) -> None:
        self.flat, self.key = flat, key
        self.model = model.copy()
        #: False after a training that wrote to the model; the model then has its numbers back.
        self.is_model_unchanged = True

    def train(self, disturb: Callable[[], Any] | None = None) -> Outcome:
        """Trains the key. All global generators have the same state at first; then comes the disturbance."""
        changed_seed("all", 1)
        if disturb is not None:
            disturb()
        begun = time.perf_counter()
        try:
            update, loss = self.flat.train(self.model, self.key)
        except LearnerError as error:
            if "changed the model" not in error.problem:
                raise
            self.is_model_unchanged = False
            update, loss = np.zeros(self.flat.size, np.float32), 0.0
        secs = time.perf_counter() - begun
        return Outcome(np.array(update), loss, self.flat.tensors(), secs)

    def followed(self) -> float:
        """The share of a small movement of the model that is in the result: near 1 for a local model, 0 or less for a change.

        The rate is low, so that neither depends on how far the training leads away from the model.
        """
        signs = np.random.default_rng(1).choice([-0.01, 0.01], size=self.model.size)
        moved = (self.model * (1 + signs) if self.model.any() else signs).astype(np.float32)
        key = self.key._replace(rate_factor=0.01)
        before, after = Probe(self.flat, self.model, key).train(), Probe(self.flat, moved, key).train()
        movement = moved.astype(np.float64) - self.model
        length = float(movement @ movement)
        return (
            float((after.update.astype(np.float64) - before.update) @ movement) / length
            if length > 0
            else 0.0
        )

    def train_in(self, crew: ProcessCrew) -> tuple[Outcome, dict[str, tuple[float, float]]]:
        """The training and an evaluation by a worker process."""
        crew.train(self.model, [self.key])
        _, update, loss = crew.next()
        return Outcome(update, loss, self.flat.tensors(), 0.0), crew.evaluate(self.model)

    def evaluate(self) -> dict[str, tuple[float, float]]:
        """The metrics of the model."""
        return self.flat.evaluate(self.model)


def changed_seed(generator: str, seed: int) -> bool:
    """Seeds one global generator, or all; False if the module is not in use."""
    torch = sys.modules.get("torch")
    if generator in ("all", "random"):
        random.seed(seed)
    if generator in ("all", "numpy.random"):
        np.random.seed(seed)
    if generator in ("all", "torch") and torch is not None:
        torch.manual_seed(seed)
    return generator != "torch" or torch is not None


class GlobalState:
    """The states of the global generators, to restore them."""

    def __init__(self) -> None:
        torch = sys.modules.get("torch")
        self._torch = None if torch is None else torch.get_rng_state()
        self._random, self._numpy = random.getstate(), np.random.get_state()

    def restore(self) -> None:
        """Gives the generators the states that they had."""
        random.setstate(self._random)
        np.random.set_state(self._numpy)
        if self._torch is not None:
            sys.modules["torch"].set_rng_state(self._torch)


@contextmanager
def thread_count(count: int) -> Iterator[bool]:
    """Sets the number of torch's threads for a while; gives False if torch is not in use."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield False
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield True
    finally:
        torch.set_num_threads(before)
