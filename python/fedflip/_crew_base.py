"""What all crews of workers have in common, whatever carries their orders."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, get_args

import numpy as np

from fedflip._arguments import count, instance, listed, shown
from fedflip._crew import CrewLearner, not_open
from fedflip._errors import InputError
from fedflip._key import TrainKey
from fedflip._learner_layout import Array
from fedflip._process_parcel import refuse_in_worker

__all__ = ["WorkerCrew"]


class Orders(Protocol):
    """A queue of orders for workers, as both dispatchers have it."""

    def begin(self, kind: str, model: Array, arguments: Sequence[Any]) -> list[Any]:
        """Begins one job for each argument."""
        ...

    def answers(self, jobs: list[Any]) -> list[Any]:
        """Waits until these jobs are done."""
        ...


Queue = TypeVar("Queue", bound=Orders)


class WorkerCrew(Generic[Queue]):
    """The base of ``ProcessCrew`` and of the crews of clusters: checks, and calls that wait for their answer."""

    def __init__(self) -> None:
        #: None while the crew is closed.
        self._dispatcher: Queue | None = None
        #: The number of parameters of a model.
        self._size = 0

    def losses(self, model: Array, devices: Sequence[int]) -> list[float]:
        """The mean loss of a model on the samples of each device. Losses go before trainings that have not begun."""
        asked = listed("devices", devices, "a list of devices", each=count)
        return self._answers("loss", model, asked)

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """The metrics of a model, by one worker. The evaluation goes before trainings that have not begun."""
        [answer] = self._answers("evaluate", model, [None])
        metrics: dict[str, tuple[float, float]] = answer
        return metrics

    def close(self) -> None:
        """Ends the workers, and gives their memory back."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> Queue:
        if self._dispatcher is None:
            raise not_open()
        return self._dispatcher

    def _begin(self, model: Array, keys: Sequence[TrainKey]) -> int:
        """Begins one training for each key, and returns their number."""
        remedy = "give a list such as [TrainKey(seed=1, round=1, device=0)]"
        trainings = listed("keys", keys, "a list of keys", each=_key, remedy=remedy)
        return len(self._opened().begin("train", self._checked(model), trainings))

    def _answers(self, kind: str, model: Array, arguments: Sequence[Any]) -> list[Any]:
        dispatcher = self._opened()
        return dispatcher.answers(dispatcher.begin(kind, self._checked(model), arguments))

    def _checked(self, model: Any) -> Array:
        if not isinstance(model, np.ndarray) or model.shape != (self._size,) or model.dtype != np.float32:
            raise InputError(
                f"the model is {shown(model)}, not a flat float32 array of {self._size:,} parameters",
                where="model",
                value=model,
                remedy="use a model of this learner",
            )
        return model

    @staticmethod
    def _checked_work(work: Any) -> CrewLearner | bytes:
        """What a crew is opened with; refused in a worker that imports the user's script."""
        refuse_in_worker()
        remedy = "write crew.open(ff.FlatLearner(learner))"
        checked: CrewLearner | bytes = instance(
            "work", work, (*get_args(CrewLearner), bytes), "a FlatLearner", remedy=remedy
        )
        return checked


def _key(where: str, value: Any) -> TrainKey:
    """A key whose numbers a worker can use."""
    key: TrainKey = instance(where, value, TrainKey, "a TrainKey")
    return key
