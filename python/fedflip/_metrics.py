"""Which way a metric is better, for learners that do not say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from fedflip._errors import InputError

__all__ = ["Direction", "checked_directions", "direction"]

Direction = Literal["max", "min"]

#: Words of metrics that are better when they are smaller; every other metric is better when it is larger.
_SMALLER = frozenset(
    [
        "bpc",
        "bpw",
        "brier",
        "cer",
        "cost",
        "crossentropy",
        "deviance",
        "distance",
        "divergence",
        "ece",
        "entropy",
        "err",
        "error",
        "errors",
        "fid",
        "hinge",
        "kl",
        "loss",
        "losses",
        "mae",
        "mape",
        "mdae",
        "misclassification",
        "mse",
        "nll",
        "perplexity",
        "ppl",
        "regret",
        "residual",
        "rmse",
        "rmsle",
        "risk",
        "smape",
        "ter",
        "wer",
    ]
)


def direction(name: str) -> Direction:
    """Guesses from its name whether a metric is better when it is larger (``"max"``) or smaller (``"min"``).

    Names that contain a word such as loss, error, perplexity, rmse or mae are better when they are smaller, unless
    they begin with ``neg``. All other names, known or not, are better when they are larger. A learner that declares
    ``metrics`` needs no guess.

    Examples:
        >>> [direction(name) for name in ["accuracy", "test_loss", "top-5 error", "neg_mean_squared_error", "bleu"]]
        ['max', 'min', 'min', 'max', 'max']
    """
    words = re.findall(r"[a-z]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    smaller = not _SMALLER.isdisjoint(words)
    return "min" if smaller and words[0] not in ("neg", "negative") else "max"


#: Records and tables show names as they are.
METRIC_NAME_RULE = "1 to 64 printable characters"


def is_metric_name(name: Any) -> bool:
    """Whether records can hold the name."""
    return isinstance(name, str) and 1 <= len(name) <= 64 and name.isprintable()


def checked_directions(declared: Any, where: str = "learner.metrics") -> dict[str, Direction]:
    """The metrics that a learner declares, checked.

    Raises:
        InputError: If the declaration is not a mapping from names to ``"max"`` or ``"min"``.
    """
    remedy = 'declare metrics = {"accuracy": "max", "loss": "min"}'
    if not isinstance(declared, Mapping):
        raise InputError(
            f"metrics of the learner is {declared!r}, which is not a mapping",
            where=where,
            value=declared,
            remedy=remedy,
        )
    checked: dict[str, Direction] = {}
    for name, better in declared.items():
        if not is_metric_name(name):
            raise InputError(
                f"metrics of the learner has a name that is not {METRIC_NAME_RULE}",
                where=where,
                value=name,
                remedy=remedy,
            )
        if not (isinstance(better, str) and better in ("max", "min")):
            raise InputError(
                f"metrics of the learner says {better!r} for {name!r}; it must be 'max' or 'min'",
                where=f"{where}[{name!r}]",
                value=better,
                remedy="say 'max' if larger values are better, and 'min' if smaller values are",
            )
        checked[name] = cast("Direction", better)
    return checked
