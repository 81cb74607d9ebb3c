"""What runs in a worker process of a VirtualGrid."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from fedflip.flower._client import execute
from fedflip.flower._flwr import app_of

__all__ = ["main"]


def main(descriptor: int, parent: int) -> None:
    """Serves messages until the parent says so, closes the connection, or is gone."""
    # Ctrl-C reaches all processes of a terminal; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch_parent, args=(descriptor, parent), daemon=True).start()
    connection = Connection(descriptor)
    try:
        place, packed = connection.recv()
        app = app_of(place, "client_app") if place else pickle.loads(packed)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(1)
    except BaseException as error:
        connection.send((False, f"{type(error).__name__}: {error}", traceback.format_exc()))
        return
    connection.send((True, "", ""))
    with contextlib.suppress(EOFError, ConnectionError):
        _serve(connection, app)


def _serve(connection: Connection, app: Any) -> None:
    while (job := connection.recv()) is not None:
        message, context, seed = job
        outcome = execute(app, message, context, seed)
        # An exception may not be picklable; its text and its traceback are enough.
        outcome.exception = None
        connection.send(outcome)


def _watch_parent(descriptor: int, parent: int) -> None:
    """Ends the process when the parent is gone, even in the middle of a long training."""
    poll = select.poll()
    # No event is asked for, so that only the end of the connection is one.
    poll.register(descriptor, 0)
    while os.getppid() == parent:
        if poll.poll(1000):
            break
    os._exit(1)
