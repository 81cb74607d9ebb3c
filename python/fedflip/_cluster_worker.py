"""What runs in a worker of a cluster, whatever started it."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from typing import Any

import numpy as np

from fedflip._cluster_probe import Report, report_of
from fedflip._crew_errors import sendable
from fedflip._errors import FedflipError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner_layout import Array
from fedflip._native_learner import NativeLearner

__all__ = ["Actor", "Done", "Serving", "do_in_process", "forget"]

_log = logging.getLogger("fedflip")

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

    def do(self, kind: str, number: Any, model: Array, argument: Any) -> Done:
        """Trains, evaluates or computes a loss. ``number`` is a different one for each model."""
        with self._lock:
            try:
                if kind == "run" and isinstance(self._work, NativeLearner):
                    return True, self._work.whole_run(argument), None
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
        """Gives the data back. A learner that fails to close is logged: its results count."""
        if isinstance(self.joined, FedflipError):
            return
        try:
            self._work.close()
        except Exception:
            _log.warning("the learner failed to close", exc_info=True)

    def _lent(self, number: Any, model: Array) -> Array:
        """A copy of the model for the learner: the original may be memory that other workers share."""
        if self._model is None or self._model[0] != number:
            lent = np.array(model)
            # Nobody changes the numbers later, so that they are compared with one copy after each training.
            lent.flags.writeable = False
            self._model = (number, lent)
        return self._model[1]


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
        fine, answer, update = self._serving.do(kind, number, model, argument)
        return (fine, answer), update


#: The learner of this process, by the digest of its parcel.
_held: dict[str, Serving] = {}
_loading = threading.Lock()


def do_in_process(token: str, parcel: bytes | None, order: tuple[Any, ...] | None) -> Any:
    """Runs in a worker: None if the worker has no learner and gets none; otherwise its report, and what it did."""
    with _loading:
        if token not in _held:
            if parcel is None:
                return None
            forget()
            _held[token] = Serving(parcel)
        serving = _held[token]
    return serving.joined, None if order is None else serving.do(*order)


def forget() -> None:
    """Closes the learner of this process, if there is one, and gives its memory back."""
    while _held:
        _held.popitem()[1].close()
