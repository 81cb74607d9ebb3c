"""One worker process of a crew, as its parent sees it."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Mapping
from typing import Any

from fedflip._arguments import count
from fedflip._errors import InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._process_memory import SharedMemory, anonymous_file
from fedflip._process_parcel import Parcel
from fedflip._process_start import END_SECS, start_worker, worker_environment
from fedflip._process_worker import Order

__all__ = ["Post", "WorkerProcess", "checked_workers", "close_all", "died_of"]

_WORKERS_MAX = 1024


class Post:
    """What all workers of a crew share: the packed learner, the rows of models and updates, and the environment.

    Args:
        parcel: The packed learner.
        memory: The rows of models and updates.
        environment: Variables that workers have in addition to those of this process.
    """

    def __init__(self, parcel: Parcel, memory: SharedMemory, environment: Mapping[str, str]) -> None:
        self.memory = memory
        self.owner = os.getpid()
        self.parcel_bytes = parcel.nbytes
        self.parcel = anonymous_file(parcel.nbytes)
        mapped = mmap.mmap(self.parcel, parcel.nbytes)
        with memoryview(mapped) as target:
            parcel.write(target)
        mapped.close()
        workspace = {"CUBLAS_WORKSPACE_CONFIG": os.environ.get("CUBLAS_WORKSPACE_CONFIG", ":4096:8")}
        self.environment = {**worker_environment(), **workspace, **environment}

    def close(self) -> None:
        """Gives the memory back; workers that still run keep theirs."""
        if self.parcel >= 0:
            os.close(self.parcel)
        self.parcel = -1
        self.memory.close()


class WorkerProcess:
    """A worker process and the orders that it has not answered yet.

    The user's script is not imported unless classes of the learner are defined in it and cloudpickle is missing.

    Args:
        post: What all workers share.
    """

    def __init__(self, post: Post) -> None:
        self.orders: deque[Order] = deque()
        #: Whether the worker has loaded the learner.
        self.ready = False
        #: When the worker began its first order, or its start.
        self.since = time.monotonic()
        self.process, self.connection = start_worker(
            "fedflip._process_worker",
            (post.memory.descriptor, post.memory.shape, post.parcel, post.parcel_bytes),
            environment=post.environment,
            inherited=(post.memory.descriptor, post.parcel),
        )

    def send(self, order: Order) -> bool:
        """Gives the worker one more order; False if the worker is gone."""
        if not self.orders:
            self.since = time.monotonic()
        try:
            self.connection.send(tuple(order))
        except OSError:
            return False
        self.orders.append(order)
        return True

    def answered(self, ticket: int) -> Order:
        """Takes an order off the list. The worker has begun the next one by now."""
        self.since = time.monotonic()
        order = next(order for order in self.orders if order.ticket == ticket)
        self.orders.remove(order)
        return order

    def receive(self, waits: bool = True) -> tuple[Any, ...] | None:
        """The next message; None if the worker is gone, or has sent none and the caller does not wait."""
        try:
            if not waits and not self.connection.poll():
                return None
            pickled = self.connection.recv_bytes()
        except (EOFError, OSError):
            return None
        try:
            message: tuple[Any, ...] = pickle.loads(pickled)
        except Exception as error:
            # Code of the learner may run here, and may fail in any way.
            return self._unreadable(error)
        return message

    def _unreadable(self, error: Exception) -> tuple[Any, ...]:
        """The message that stands for one that cannot be unpickled."""
        problem = f"a worker process sent an answer that cannot be read: {type(error).__name__}: {error}"
        trace = traceback.format_exc()
        if not self.orders:
            return None, False, (problem, trace)
        # A worker answers its orders one after the other.
        order = self.orders[0]
        key = TrainKey(*order.argument) if order.kind == "train" else None
        device, round = (order.argument, None) if key is None else (key.device, key.round)
        remedy = "raise exceptions whose class this process can import, and whose attributes can be pickled"
        return (
            order.ticket,
            False,
            LearnerError(problem, device=device, round=round, traceback=trace, remedy=remedy),
        )

    def kill(self) -> None:
        """Ends the process at once."""
        self.process.kill()
        self.process.wait()

    def dismiss(self) -> None:
        """Asks the process to end after its present order."""
        with contextlib.suppress(OSError):
            self.connection.send(None)

    def close(self, until: float) -> None:
        """Waits until the process has ended, at most until this time, and kills it then."""
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
        finally:
            self.connection.close()


def close_all(workers: list[WorkerProcess], post: Post) -> None:
    """Ends all workers, and gives their memory back. Idle workers end by themselves; busy ones are killed."""
    if os.getpid() != post.owner:
        # A fork of the parent ends; the workers are not its own.
        return
    for worker in workers:
        if worker.orders or not worker.ready:
            worker.process.kill()
        else:
            worker.dismiss()
    until = time.monotonic() + END_SECS
    for worker in workers:
        worker.close(until)
    workers.clear()
    post.close()


def died_of(code: int | None) -> str:
    """The exit code of a process in words."""
    if code is None or code >= 0:
        return f"it exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"it was killed by {name}" + (
        ", perhaps because the machine ran out of memory" if code == -9 else ""
    )


def checked_workers(workers: int | None) -> int:
    """A number of workers, checked; one for each core if there is none."""
    if not sys.executable:
        raise InputError(
            "worker processes need a Python to start, and sys.executable is empty",
            where="workers",
            value=workers,
            remedy="train in this process",
        )
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return count("workers", workers, least=1, most=_WORKERS_MAX, remedy="use one worker for each core")
