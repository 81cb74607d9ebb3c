"""What the ranks of an MPI job do: all but the first one serve the first."""

from __future__ import annotations

import atexit
import sys
import time
import traceback
from functools import cache
from typing import Any, NoReturn

import numpy as np

from fedflip._cluster_worker import Serving
from fedflip._learner_layout import Array

__all__ = ["ANSWER", "MODEL", "ORDER", "UPDATE", "received", "take_part"]

#: Kinds of messages: to a worker, its answers, models and packed learners, and updates.
ORDER, ANSWER, MODEL, UPDATE = 1, 2, 3, 4
#: MPI itself waits with a whole processor; this looks again after a while.
_LOOK_SECS = (0.0002, 0.005)


@cache
def take_part() -> Any:
    """The ranks of the job, as rank 0 sees them; the other ranks serve it, and end when it ends."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError("MpiCrew needs MPI and mpi4py: pip install mpi4py", name="mpi4py") from error
    comm = MPI.COMM_WORLD
    if comm.rank > 0:
        try:
            _serve(comm)
        except (Exception, KeyboardInterrupt):
            # The other ranks would wait for this one for ever, even at its exit.
            traceback.print_exc()
            comm.Abort(1)
    atexit.register(lambda: [comm.send(None, rank, ORDER) for rank in range(1, comm.size)])
    return comm


def _serve(comm: Any) -> NoReturn:
    """Does what rank 0 asks for, and ends the process when rank 0 is done."""
    serving: Serving | None = None
    models: dict[int, Array] = {}
    while (order := received(comm, 0, ORDER)) is not None:
        kind, ticket, number, argument = order
        if kind == "join":
            parcel = bytearray(argument)
            comm.Recv(parcel, 0, MODEL)
            if serving is not None:
                serving.close()
            serving, models = Serving(parcel), {}
            comm.send((None, True, serving.joined), 0, ANSWER)
        elif kind == "model":
            # One at a time is in use, and one more is on its way.
            models = {**dict(list(models.items())[-1:]), number: np.empty(argument, np.float32)}
            comm.Recv(models[number], 0, MODEL)
        elif serving is not None:
            fine, answer, update = serving.do(kind, number, models[number], argument)
            comm.send((ticket, fine, answer), 0, ANSWER)
            if update is not None:
                # Waits until rank 0 has room for the update.
                comm.Send(np.ascontiguousarray(update), 0, UPDATE)
    if serving is not None:
        serving.close()
    sys.exit(0)


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
