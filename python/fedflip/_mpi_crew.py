"""A crew of MPI ranks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fedflip._cluster_crew import ClusterCrew
from fedflip._cluster_engine import Answered, Event, Joined, Order
from fedflip._errors import FedflipError
from fedflip._learner_layout import Array
from fedflip._mpi_ranks import ANSWER, MODEL, ORDER, STOP, UPDATE, received, take_part

__all__ = ["MpiCrew"]


class MpiCrew(ClusterCrew):
    """Workers that are ranks of an MPI job (``pip install mpi4py``): ``mpirun -n 8 python script.py``.

    Rank 0 drives the run; the other ranks serve it. On those, ``MpiCrew()`` does not return: it serves until rank 0 is done,
    and then ends the process. With MPI, a rank that dies ends the whole job; start the job again to resume the run.

    Args:
        mixed: Admit workers that differ in processor, version or data.
        join_secs: The longest time without any worker.

    Examples:
        >>> crew = MpiCrew()  # doctest: +SKIP
        >>> run = simulate(Scenario("synthetic"), crew=crew, out="run", resume=True)  # doctest: +SKIP
    """

    def __init__(self, *, mixed: bool = False, join_secs: float = 300.0) -> None:
        super().__init__(mixed=mixed, join_secs=join_secs)
        self._comm = take_part()
        if self._comm.size < 2:
            raise FedflipError(
                "the MPI job has one rank, and rank 0 does not train",
                remedy="start it with mpirun -n 3 or more: one rank drives, the others train",
            )

    def __repr__(self) -> str:
        return f"MpiCrew() of {self._comm.size - 1} workers"

    def _make_engine(self) -> _MpiEngine:
        return _MpiEngine(self._comm)


_NUMBERS = itertools.count()


class _MpiEngine:
    """Orders and answers as messages. Slot n is rank n + 1."""

    def __init__(self, comm: Any) -> None:
        self._comm, self.slots = comm, comm.size - 1
        #: A rank may answer only now what an earlier engine asked: each asks with a number of its own.
        self._number = next(_NUMBERS)
        #: Messages on their way, with the memory that they are sent from.
        self._sending: list[tuple[Any, Any]] = []
        self._has: list[list[int]] = [[] for _ in range(self.slots)]
        #: The orders that each worker has, and the ranks that hold updates.
        self._orders = [0] * self.slots
        self._at: dict[int, int] = {}
        self._training: set[int] = set()
        #: The slots that do whole runs, by ticket.
        self._runs: dict[int, int] = {}
        self._size = 0

    def start(self, parcel: bytes) -> None:
        self._parcel = parcel

    def join(self, slot: int) -> None:
        # All messages are sent from the same memory: a learner may hold much data.
        self._tell(slot, ("join", None, self._number, len(self._parcel)))
        self._sending.append((self._comm.Isend(self._parcel, slot + 1, MODEL), self._parcel))

    def publish(self, model: Array) -> Array:
        self._size = len(model)
        return np.ascontiguousarray(model)

    def send(self, slot: int, order: Order) -> None:
        has = self._has[slot]
        if order.number not in has:
            self._tell(slot, ("model", None, order.number, len(order.model)))
            self._sending.append((self._comm.Isend(order.model, slot + 1, MODEL), order.model))
            self._has[slot] = [*has[-1:], order.number]
        self._tell(slot, (order.kind, order.ticket, order.number, order.argument))
        self._orders[slot] += 1
        if order.kind == "train":
            self._training.add(order.ticket)
        elif order.kind == "run":
            self._runs[order.ticket] = slot

    def wait(self, secs: float) -> list[Event]:
        self._sending = [(request, memory) for request, memory in self._sending if not request.Test()]
        events: list[Event] = []
        while (found := received(self._comm, None, ANSWER, 0 if events else secs)) is not None:
            rank, (ticket, fine, answer) = found
            if ticket is None:
                if fine == self._number:
                    events.append(Joined(rank - 1, answer))
                continue
            self._orders[rank - 1] -= 1
            if ticket in self._training and fine:
                self._at[ticket] = rank
            self._training.discard(ticket)
            self._runs.pop(ticket, None)
            events.append(Answered(rank - 1, ticket, fine, answer))
        return events

    def fetch(self, ticket: int) -> Array:
        update = np.empty(self._size, np.float32)
        self._comm.Recv(update, self._at.pop(ticket), UPDATE)
        return update

    def close(self) -> None:
        for ticket, slot in self._runs.items():
            # A whole run may take hours.
            self._sending.append((self._comm.isend(ticket, slot + 1, STOP), ticket))
        # Trainings that are under way end first: a message that nobody takes would block its worker.
        while any(self._orders) or self._at or self._sending:
            self.wait(0.1)
            for ticket in list(self._at):
                self.fetch(ticket)

    def _tell(self, slot: int, message: Any) -> None:
        self._sending.append((self._comm.isend(message, slot + 1, ORDER), message))
