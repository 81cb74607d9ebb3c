"""The seam between the dispatcher of a cluster and the engines that carry its orders."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from fedflip._cluster_probe import Report
from fedflip._errors import FedflipError
from fedflip._learner_layout import Array

__all__ = ["Answered", "Engine", "Event", "Gone", "Joined", "LostError", "Order"]


class Order(NamedTuple):
    """One piece of work for a worker."""

    ticket: int
    #: ``"train"``, ``"loss"``, ``"evaluate"`` or ``"run"``.
    kind: str
    #: A number that is different for each model, and the model as ``publish`` returned it.
    number: int
    model: Any
    #: A TrainKey, a device, the text of a scenario, or None.
    argument: Any


class Joined(NamedTuple):
    """A worker has loaded the learner, or says why it cannot."""

    slot: int
    report: Report | FedflipError


class Answered(NamedTuple):
    """A worker has done an order. The update of a training is fetched later."""

    slot: int
    ticket: int
    fine: bool
    answer: Any


class Gone(NamedTuple):
    """A worker is lost with all its orders; it may join again."""

    slot: int
    why: str
    #: Whether other workers may have been lost for the same reason, so that nobody knows whose order was to blame.
    together: bool = False


Event = Joined | Answered | Gone


class LostError(Exception):
    """An update is lost with the machine that held it."""


class Engine(Protocol):
    """Ray, MPI, or an executor: workers in numbered slots, and messages to and from them."""

    #: The number of workers.
    slots: int

    def start(self, parcel: bytes) -> None:
        """Starts the workers, which get the packed learner."""
        ...

    def join(self, slot: int) -> None:
        """Asks a worker to load the learner and to train the probe; ``Joined`` is its answer."""
        ...

    def publish(self, model: Array) -> Any:
        """Makes a model known to all workers: once for each model. The array does not change afterwards."""
        ...

    def send(self, slot: int, order: Order) -> None:
        """Gives an order to a worker. A worker that is lost is an event ``Gone``, and not an exception."""
        ...

    def wait(self, secs: float) -> list[Event]:
        """Waits for events, at most so long."""
        ...

    def fetch(self, ticket: int) -> Array:
        """The update of a training that was answered; it holds until the next call.

        Raises:
            LostError: If the update is lost.
        """
        ...

    def close(self) -> None:
        """Ends the workers, idle or not."""
        ...
