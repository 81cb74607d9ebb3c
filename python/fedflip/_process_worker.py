"""What runs in a worker process of a crew."""

from __future__ import annotations

import mmap
import os
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from fedflip._crew_errors import sendable
from fedflip._errors import LearnerError
from fedflip._key import TrainKey
from fedflip._learner import FlatLearner
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner
from fedflip._process_memory import SharedMemory
from fedflip._process_parcel import unpack
from fedflip._process_start import begin_worker, use_one_thread

__all__ = ["Order", "Setup", "main"]


class Setup(NamedTuple):
    """What a worker needs to begin: descriptors that it inherits, and the shape of the shared memory."""

    connection: int
    parent: int
    memory: int
    memory_shape: tuple[int, int, int]
    parcel: int
    parcel_bytes: int


class Order(NamedTuple):
    """One piece of work for a worker."""

    ticket: int
    #: ``"train"``, ``"loss"`` or ``"evaluate"``.
    kind: str
    #: The row of the model, and a number that is different for each model that was ever in the row.
    row: int
    model: int
    #: The row for the update.
    place: int
    #: A TrainKey, a device, or None.
    argument: Any


def main(*numbers: Any) -> None:
    """Serves orders until the parent process closes the connection, says so, or is gone."""
    setup = Setup(*numbers)
    connection = begin_worker(setup.connection, setup.parent)
    try:
        memory = SharedMemory(*setup.memory_shape, descriptor=setup.memory)
        # A private mapping: all workers share the pages of the data, until one of them writes to its copy.
        parcel = mmap.mmap(setup.parcel, setup.parcel_bytes, access=mmap.ACCESS_COPY)
        work = unpack(memoryview(parcel))
        use_one_thread()
    except BaseException as error:
        connection.send((None, False, (f"{type(error).__name__}: {error}", traceback.format_exc())))
        sys.exit(1)
    connection.send((None, True, os.getpid()))
    try:
        _serve(connection, memory, work)
        work.close()
    except (EOFError, ConnectionError):
        pass


def _serve(connection: Connection, memory: SharedMemory, work: FlatLearner | NativeLearner) -> None:
    lender = _Lender(memory)
    while (order := connection.recv()) is not None:
        try:
            answer = _done(Order(*order), lender, memory, work)
        except LearnerError as error:
            connection.send((order[0], False, sendable(error)))
        else:
            connection.send((order[0], True, answer))


def _done(order: Order, lender: _Lender, memory: SharedMemory, work: FlatLearner | NativeLearner) -> Any:
    model = lender.model(order)
    if order.kind == "evaluate":
        return work.evaluate(model)
    if order.kind == "loss":
        return work.loss(model, order.argument)
    key = TrainKey(*order.argument)
    update, loss = work.train(model, key)
    memory.updates[order.place][:] = update
    return loss


class _Lender:
    """A copy of the present model, which a learner may damage without harm to other workers."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self._copy: Array = np.empty(memory.shape[0], np.float32)
        self._model: int | None = None

    def model(self, order: Order) -> Array:
        if self._model != order.model:
            # A new array object: the views that were lent of the earlier model keep their numbers.
            self._copy = self._memory.models[order.row].copy()
            # Nobody changes the numbers later, so that they are compared with one copy after each training.
            self._copy.flags.writeable = False
            self._model = order.model
        return self._copy
