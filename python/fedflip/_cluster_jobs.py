"""What the dispatcher of a cluster remembers of models, jobs and workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fedflip._errors import FedflipError
from fedflip._learner_layout import Array

__all__ = ["Job", "Model", "Slot"]


@dataclass(eq=False)
class Model:
    """A model that orders need, and what it is called in the cluster."""

    number: int
    array: Array | None
    users: int
    published: Any = None


@dataclass(eq=False)
class Job:
    """One training, loss, evaluation or whole run, and what became of it."""

    ticket: int
    kind: str
    argument: Any
    model: Model
    lost: int = 0
    done: bool = False
    answer: Any = None
    error: FedflipError | None = None

    @property
    def device(self) -> int | None:
        """The device, if there is one."""
        if self.kind == "train":
            return int(self.argument.device)
        return self.argument if self.kind == "loss" else None


@dataclass(eq=False)
class Slot:
    """A place for a worker, and the orders that it has."""

    ready: bool = False
    #: The worker is not there since; it counts while the worker is not ready.
    since: float = 0.0
    #: How often in a row the worker was lost before it had joined, and why.
    failures: int = 0
    why: str = ""
    #: When it is asked to join; None if it was asked.
    ask_at: float | None = 0.0
    orders: dict[int, Job] = field(default_factory=dict)
