"""What runs in a worker process of a VirtualGrid."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from multiprocessing.connection import Connection
from typing import Any

from fedflip._process_start import begin_worker, use_one_thread
from fedflip.flower._client import execute
from fedflip.flower._flwr import app_of

__all__ = ["main"]


def main(descriptor: int, parent: int) -> None:
    """Serves messages until the parent says so, closes the connection, or is gone."""
    connection = begin_worker(descriptor, parent)
    try:
        place, packed = connection.recv()
        app = app_of(place, "client_app") if place else pickle.loads(packed)
        use_one_thread()
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
