"""What becomes of an exception, or of a fork, that comes out of a learner."""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

from fedflip._errors import FedflipError, LearnerError
from fedflip._learner_watch import HungError

__all__ = ["COPY_FIRST", "end_fork", "own_traceback", "raise_failure"]

COPY_FIRST = "copy the model before training, for example with model.copy() or torch.tensor(model)"
#: Modules whose frames a user need not see.
_CALLERS = ("fedflip._learner", "fedflip._learner_watch")


def raise_failure(
    error: BaseException, what: str, device: int | None, round: int | None, timeout_secs: float | None
) -> NoReturn:
    """Raises an exception of the learner as a LearnerError that names device and round.

    Args:
        error: The exception.
        what: What the learner was asked, in words.
        device: The device, if the call was about one.
        round: The round, if the call was about one.
        timeout_secs: The time limit of a call.
    """
    if isinstance(error, LearnerError):
        error.device = device if error.device is None else error.device
        error.round = round if error.round is None else error.round
        raise error
    if isinstance(error, HungError):
        raise LearnerError(
            f"{what} took longer than {timeout_secs:g} seconds",
            device=device,
            round=round,
            remedy="raise timeout_secs, or find out where the learner hangs; worker processes can be killed",
        ) from None
    problem, remedy = (
        f"{type(error).__name__}: {error}",
        "correct the code of the learner, then resume the run",
    )
    if isinstance(error, FedflipError):
        problem, remedy = error.problem, error.remedy
    if isinstance(error, ValueError) and "read-only" in str(error):
        remedy = f"the model is read-only: {COPY_FIRST}"
    raise LearnerError(
        f"{what} failed: {problem}",
        device=device,
        round=round,
        traceback=own_traceback(error),
        remedy=remedy,
    ) from error


def own_traceback(error: BaseException) -> str:
    """The traceback of an exception without the frames of fedflip that called the learner."""
    place = error.__traceback__
    while (
        place is not None
        and place.tb_next is not None
        and place.tb_frame.f_globals.get("__name__") in _CALLERS
    ):
        place = place.tb_next
    return "".join(traceback.format_exception(type(error), error, place))


def end_fork(caller: int) -> None:
    """Ends this process if it is a fork that a learner made and forgot: otherwise it would continue the run of its parent.

    Args:
        caller: The process that called the learner.
    """
    if os.getpid() != caller:
        sys.stderr.write(
            "fedflip: a process that the learner forked came back from the learner; it ends here\n"
        )
        sys.stderr.flush()
        os._exit(70)
