"""The exceptions of fedflip."""

from __future__ import annotations

from typing import Any

__all__ = ["FedflipError", "InputError", "LearnerError"]


class FedflipError(Exception):
    """The base class of all exceptions that fedflip raises.

    ``remedy`` says what to change, where fedflip knows.
    """

    def __init__(self, problem: str, *, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}\n  hint: {self.remedy}" if self.remedy else self.problem

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), dict(self.__dict__)))


class InputError(FedflipError, ValueError):
    """An argument, a file or a table cannot be used.

    Attributes:
        where: The argument, the key, or the file and line.
        value: The value that cannot be used.
        remedy: What would be right.
    """

    def __init__(self, problem: str, *, where: str = "", value: Any = None, remedy: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.where = where
        self.value = value


class LearnerError(FedflipError, RuntimeError):
    """The code of a learner failed, or returned something that cannot be used.

    The exception of the learner, if there is one, is the ``__cause__``. A run folder stays resumable.

    Attributes:
        device: The position of the device in the fleet; None outside of training.
        round: The round; None outside of training.
        traceback: The traceback of the learner's code, if it ran in another process.
    """

    def __init__(
        self,
        problem: str,
        *,
        device: int | None = None,
        round: int | None = None,
        traceback: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(problem, remedy=remedy)
        self.device = device
        self.round = round
        self.traceback = traceback

    def __str__(self) -> str:
        text = super().__str__()
        # Python shows the cause itself.
        shows = bool(self.traceback) and self.__cause__ is None
        return f"{text}\n\n{self.traceback.rstrip()}" if shows else text


def _restored(kind: type[FedflipError], state: dict[str, Any]) -> FedflipError:
    """Makes an exception again in another process."""
    error = kind(state["problem"])
    error.__dict__.update(state)
    return error
