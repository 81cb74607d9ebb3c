"""Errors on their way from a worker to the process that drives the run."""

from __future__ import annotations

import pickle
import traceback

import numpy as np

from fedflip._errors import FedflipError, LearnerError
from fedflip._learner_checks import DivergedError
from fedflip._learner_failure import own_traceback

__all__ = ["sendable"]


def sendable(error: Exception) -> FedflipError:
    """The error if it can travel, or a plain one that says the same.

    The class or the attributes of a learner's own error may not be picklable, and a library's exception may need arguments that
    a pickle does not have.
    """
    if not isinstance(error, FedflipError):
        return LearnerError(
            f"a worker failed: {type(error).__name__}: {error}",
            traceback="".join(traceback.format_exception(error)),
            remedy="correct the error that the traceback of the worker shows, then resume the run",
        )
    # Tracebacks do not travel; their text is in the error.
    trace = str(getattr(error, "traceback", "")) or own_traceback(error)
    error.__cause__ = error.__context__ = error.__traceback__ = None
    try:
        if isinstance(pickle.loads(pickle.dumps(error)), type(error)):
            return error
    except Exception:
        # Pickling runs code of the learner, which may fail in any way.
        pass
    device, round = (
        int(place) if isinstance(place, int | np.integer) else None
        for place in (getattr(error, "device", None), getattr(error, "round", None))
    )
    kind = DivergedError if isinstance(error, DivergedError) else LearnerError
    return kind(str(error.problem), device=device, round=round, traceback=trace, remedy=str(error.remedy))
