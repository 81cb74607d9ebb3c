"""What runs in a worker of a cluster, whatever started it."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, wait
from contextlib import nullcontext, suppress
from typing import Any, cast

import numpy as np

from fedflip._cluster_probe import Report, report_of
from fedflip._cluster_runs import whole_run
from fedflip._crew_errors import sendable
from fedflip._errors import FedflipError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner

__all__ = ["Actor", "Done", "Serving", "do_in_process", "forget", "forget_in"]

_log = logging.getLogger("fedflip")

#: The longest time in which workers of a caller close their learner, and the pause of each that lets others take an order.
_FORGET_SECS, _PAUSE_SECS = 5.0, 0.05
#: Whether it went well; the loss, the metrics or the error; and the update of a training.
Done = tuple[bool, Any, Array | None]


class Serving:
    """A learner in a worker. It is loaded once, trains the probe, and does what it is asked for.

    Args:
        parcel: The learner, as ``fedflip._process_parcel.pack`` packs it.
    """

    def __init__(self, parcel: Any) -> None:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        self._lock = threading.Lock()
        self._is_closed = False
        self._model: tuple[Any, Array] | None = None
        #: The worker's account of itself, or why it cannot work.
        self.joined: Report | FedflipError
        try:
            from fedflip._process_parcel import unpack

            self._work = unpack(memoryview(parcel))
            if (torch := sys.modules.get("torch")) is not None:
                # Workers share the cores of a machine, and the bytes of sums depend on the number of threads.
                torch.set_num_threads(1)
            self.joined = report_of(self._work)
        except FedflipError as error:
            self.joined = sendable(error)
        except Exception as error:
            self.joined = LearnerError(
                f"a worker cannot load the learner: {type(error).__name__}: {error}",
                traceback=traceback.format_exc(),
                remedy="everything that the learner imports or reads must be there on each machine of the cluster",
            )

    def do(
        self, kind: str, number: Any, model: Array, argument: Any, stop: Callable[[], bool] = lambda: False
    ) -> Done | None:
        """Trains, evaluates, computes a loss, or does a whole run; None once the learner is closed.

        Args:
            kind: The kind of the order.
            number: A different one for each model.
            model: The model.
            argument: What the order is about.
            stop: Asked now and then whether a whole run is to end early.
        """
        # Native code has no state between calls, and several threads may train at the same time.
        with nullcontext() if isinstance(self._work, NativeLearner) else self._lock:
            if self._is_closed:
                return None
            try:
                if kind == "run":
                    (text, fleet), report = argument, cast(Report, self.joined)
                    return True, (report.name, whole_run(self._work, text, fleet, stop)), None
                lent = self._lent(number, model)
                if kind == "evaluate":
                    return True, self._work.evaluate(lent), None
                if kind == "loss":
                    return True, self._work.loss(lent, argument), None
                update, loss = self._work.train(lent, TrainKey(*argument))
                return True, loss, update
            except Exception as error:
                # The learner may have damaged its copy.
                self._model = None
                return False, sendable(error), None

    def close(self) -> None:
        """Gives the data back, after what the learner does now. One that fails to close is logged: its results count."""
        with self._lock:
            if self._is_closed or isinstance(self.joined, FedflipError):
                return
            self._is_closed = True
            try:
                self._work.close()
            except Exception:
                _log.warning("the learner failed to close", exc_info=True)

    def _lent(self, number: Any, model: Array) -> Array:
        """A copy of the model for the learner: the original may be memory that other workers share."""
        kept = self._model
        if kept is None or kept[0] != number:
            lent = np.array(model)
            # Nobody changes the numbers later, so that they are compared with one copy after each training.
            lent.flags.writeable = False
            kept = self._model = (number, lent)
        return kept[1]


class Actor:
    """A worker for engines that call methods of an object in a process of its own: a learner, once it has joined."""

    def __init__(self) -> None:
        self._serving: Serving | None = None

    def join(self, parcel: Any) -> Report | FedflipError:
        """Loads the learner, and returns the report of the worker."""
        self._serving = self._serving or Serving(parcel)
        return self._serving.joined

    def do(
        self, model: Array, kind: str, number: int, argument: Any
    ) -> tuple[tuple[bool, Any], Array | None]:
        """Does an order; the update is apart from the answer, because it travels later."""
        if self._serving is None:
            raise RuntimeError("the actor was started again")
        done = self._serving.do(kind, number, model, argument)
        if done is None:
            raise RuntimeError("the learner of the actor is closed")
        return done[:2], done[2]


#: The learner of this process, by the digest of its parcel.
_held: dict[str, Serving] = {}
_loading = threading.Lock()


def do_in_process(token: str, parcel: bytes | None, order: tuple[Any, ...] | None) -> Any:
    """Runs in a worker: None if the worker has no learner and gets none; otherwise its report, and what it did."""
    with _loading:
        if token not in _held:
            if parcel is None:
                return None
            _forget()
            _held[token] = Serving(parcel)
        serving = _held[token]
    if order is None or isinstance(serving.joined, FedflipError):
        return serving.joined, None
    done = serving.do(*order)
    return None if done is None else (serving.joined, done)


def forget(token: str, secs: float = 0.0) -> None:
    """Closes the learner of this process, if it is the one of this token, and gives its memory back.

    Args:
        token: The digest of the learner's parcel.
        secs: A pause afterwards, in which further orders go to other workers.
    """
    with _loading:
        if token in _held:
            _forget()
    time.sleep(secs)


def forget_in(executor: Executor, token: str, workers: int) -> None:
    """Asks the workers of a caller's executor to close the learner. One that is busy for long keeps it until its next one."""
    # It may be broken or shut down, and then its workers are gone.
    with suppress(RuntimeError):
        wait([executor.submit(forget, token, _PAUSE_SECS) for _ in range(workers)], _FORGET_SECS)


def _forget() -> None:
    while _held:
        _held.popitem()[1].close()
