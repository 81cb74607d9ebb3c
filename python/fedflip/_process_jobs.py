"""What a crew of processes has to do, and the models that it does it with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedflip._errors import LearnerError
from fedflip._learner_layout import Array
from fedflip._process_memory import SharedMemory

__all__ = ["Job", "LentModel", "ModelRows"]


class LentModel:
    """A model that jobs need: an array of the caller, a copy of it, or a row of shared memory."""

    def __init__(self, number: int, array: Array, users: int) -> None:
        self.number = number
        self.array: Array | None = array
        self.users = users
        self.row: int | None = None

    def keep(self) -> None:
        """Copies the model, unless it is in shared memory."""
        if self.array is not None:
            self.array = np.array(self.array)


class ModelRows:
    """The rows of shared memory for models. The lowest free row is used first, so that few rows take memory.

    A model has a row from its first job that a worker gets to its last job that is done. Workers hold at most two orders
    each, and jobs begin in order. So there are never more models in rows than orders that workers hold, orders that are
    repeated, and one model whose jobs have only begun.
    """

    def __init__(self, memory: SharedMemory) -> None:
        self._rows = memory.models
        self._free = set(range(len(self._rows)))
        self._models = 0

    def admit(self, array: Array, users: int) -> LentModel:
        """A model for this number of jobs."""
        self._models += 1
        return LentModel(self._models, array, users)

    def row_of(self, model: LentModel) -> int:
        """The row of a model, which is written if the model has none yet."""
        if model.row is None:
            model.row = min(self._free)
            self._free.remove(model.row)
            if model.array is not None:
                np.copyto(self._rows[model.row], model.array)
            model.array = None
        return model.row

    def release(self, model: LentModel) -> None:
        """Says that one job of a model is done. The row is free after the last one."""
        model.users -= 1
        if model.users == 0 and model.row is not None:
            self._free.add(model.row)
            model.row = None


@dataclass(eq=False)
class Job:
    """One training, loss or evaluation, and what became of it."""

    ticket: int
    kind: str
    argument: Any
    model: LentModel
    crashes: int = 0
    timeouts: int = 0
    done: bool = False
    answer: Any = None
    update: Any = None
    error: LearnerError | None = None

    @property
    def place(self) -> tuple[int | None, int | None]:
        """Device and round, where there are any."""
        if self.kind == "train":
            return self.argument.device, self.argument.round
        return self.argument, None

    @property
    def doing(self) -> str:
        """The job in words."""
        device, round = self.place
        if self.kind == "train":
            return f"training on device {device} in round {round}"
        return f"computing the loss on device {device}" if self.kind == "loss" else "evaluating the model"
