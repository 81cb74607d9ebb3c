"""Crews: the seam between a run and the workers that train for it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from fedflip._errors import FedflipError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner

__all__ = ["Crew", "CrewLearner", "InlineCrew", "Trained"]

#: What crews train: a learner of Python, or a native task.
CrewLearner = FlatLearner | NativeLearner

_log = logging.getLogger("fedflip")


class Trained(NamedTuple):
    """The result of one training."""

    #: The position of the device in the fleet.
    device: int
    #: Local model − model, flat.
    update: Array
    #: The mean loss of the local steps.
    loss: float


@runtime_checkable
class Crew(Protocol):
    """Workers that train devices and evaluate models: processes, or the actors and ranks of a cluster.

    A run opens a crew once, begins trainings with ``train``, and fetches their results with ``next`` in any order. The
    run restores the order of the devices, so its bytes do not depend on the crew. An update depends on its model and its
    key alone; a crew may therefore train a key again after it lost a worker.
    """

    def open(self, work: CrewLearner | bytes) -> None:
        """Starts the workers, each with the learner; ``bytes`` are a learner that ``fedflip._process_parcel.pack`` packed.

        Raises:
            InputError: If the learner cannot be sent to a worker.
            LearnerError: If a worker cannot load the learner.
        """
        ...

    def train(self, model: Array, keys: Sequence[TrainKey]) -> None:
        """Begins one training for each key, in the order of the keys.

        Trainings from other models may be outstanding. The caller may change the array afterwards.
        """
        ...

    def next(self) -> Trained:
        """Waits until one more training is over.

        Raises:
            LearnerError: If this training failed. The exception names device and round, and the crew stays usable.
            FedflipError: If no training is outstanding.
        """
        ...

    def losses(self, model: Array, devices: Sequence[int]) -> list[float]:
        """The mean loss of a model on the samples of each of these devices, in their order.

        Raises:
            LearnerError: That of the first device without a loss.
        """
        ...

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """The metrics of a model, each as sum and weight. Trainings may be outstanding."""
        ...

    def close(self) -> None:
        """Ends the workers. Outstanding trainings are lost; the crew may be opened again."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class InlineCrew:
    """A crew without workers: ``next`` trains in this thread. Other crews are compared with it."""

    def __init__(self) -> None:
        self._work: CrewLearner | None = None
        self._waiting: deque[tuple[Array, TrainKey]] = deque()

    def open(self, work: CrewLearner | bytes) -> None:
        """Takes the learner as it is, or unpacks it."""
        if isinstance(work, bytes):
            from fedflip._process_parcel import unpack

            work = unpack(work)
        self._work = work

    def train(self, model: Array, keys: Sequence[TrainKey]) -> None:
        """Remembers the keys, and the model; a model that the caller could change is copied."""
        self._opened()
        lent = model
        if model.flags.writeable:
            lent = np.array(model)
            lent.flags.writeable = False
        self._waiting.extend([(lent, key) for key in keys])

    def next(self) -> Trained:
        """Trains the key that has waited longest. The update holds until the next call."""
        if not self._waiting:
            raise nothing_outstanding()
        model, key = self._waiting.popleft()
        update, loss = self._opened().train(model, key)
        return Trained(key.device, update, loss)

    def losses(self, model: Array, devices: Sequence[int]) -> list[float]:
        """Computes the loss of one device after the other."""
        return [self._opened().loss(model, device) for device in devices]

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """Evaluates in this thread."""
        return self._opened().evaluate(model)

    def close(self) -> None:
        """Closes and forgets the learner and what waits. A learner that fails to close is logged: its results count."""
        work, self._work = self._work, None
        self._waiting.clear()
        if work is not None:
            try:
                work.close()
            except Exception:
                _log.warning("the learner failed to close", exc_info=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> CrewLearner:
        if self._work is None:
            raise not_open()
        return self._work


def nothing_outstanding() -> FedflipError:
    """The error of a crew that is asked for a result, and has no training to do."""
    return FedflipError("no training is outstanding", remedy="call train(model, keys) before next()")


def not_open() -> FedflipError:
    """The error of a crew that has no workers."""
    return FedflipError("the crew is not open", remedy="call open(learner) first; close() ends the workers")
