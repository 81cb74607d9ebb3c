"""When a run ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fedflip._arguments import choice, number, text, wrong
from fedflip._errors import InputError
from fedflip._metrics import known_direction

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """The target at which a run ends.

    Args:
        metric: The name of a metric that the evaluation returns.
        at: The value that the metric has to reach.
        mode: ``"max"`` if the metric has to rise to the value, ``"min"`` if it has to fall. Without a mode, the learner's
            ``metrics`` decide, and otherwise a word in the name of the metric: losses and errors fall, accuracies and recalls
            rise. A run whose metric has any other name is refused before its first round.

    Examples:
        >>> Stop("accuracy", at=0.95)
        Stop(metric='accuracy', at=0.95, mode=None)
        >>> Stop("waiting", at=0.1, mode="min").mode
        'min'
    """

    metric: str
    at: float
    mode: Literal["max", "min"] | None = None

    def __post_init__(self) -> None:
        remedy = "name a metric that evaluate returns, such as 'accuracy'"
        if not text("metric", self.metric, remedy=remedy):
            raise wrong("metric", self.metric, "the name of a metric", remedy)
        remedy = f"give the {self.metric} at which the run ends, such as at=0.9"
        if not math.isfinite(number("at", self.at, remedy=remedy)):
            raise wrong("at", self.at, "a finite number", remedy)
        if self.mode is not None:
            choice(
                "mode",
                self.mode,
                ("max", "min"),
                remedy="leave mode out, or say 'max' if the metric has to rise",
            )

    def keys(self, declared: Mapping[str, str]) -> dict[str, Any]:
        """The keys of a scenario for this target; ``declared`` are the metrics of a learner with their directions.

        Raises:
            InputError: If the mode contradicts the learner, or if nobody says which values of the metric are better.
        """
        said = declared.get(self.metric)
        if self.mode is not None and said not in (None, self.mode):
            raise InputError(
                f"mode is {self.mode!r}, but the learner says {said!r} for {self.metric}",
                where="mode",
                value=self.mode,
                remedy="leave mode out, or change metrics of the learner",
            )
        mode = self.mode or said or known_direction(self.metric)
        if mode is None and declared:
            # The run refuses a metric that the learner does not report, and names those that it does.
            mode = "max"
        if mode is None:
            raise InputError(
                f"stop waits for {self.metric!r}, and nothing says whether larger or smaller values of it are better",
                where="stop",
                value=self.metric,
                remedy=f'write ff.Stop({self.metric!r}, at={self.at!r}, mode="min") or mode="max", or declare it in the '
                f'learner: metrics = {{{self.metric!r}: "min"}} or "max"',
            )
        return {"metric": self.metric, "at": float(self.at), "mode": mode}
