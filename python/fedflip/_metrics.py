"""Which way a metric is better, for learners that do not say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from fedflip._errors import InputError

__all__ = ["Direction", "checked_directions", "direction", "known_direction"]

Direction = Literal["max", "min"]

#: Words of metrics that are better when they are smaller, whatever else their name says.
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

#: Words of metrics that are better when they are larger.
_LARGER = frozenset(
    [
        "acc",
        "accuracy",
        "ap",
        "auc",
        "auprc",
        "auroc",
        "bleu",
        "correct",
        "correlation",
        "dice",
        "f1",
        "hits",
        "iou",
        "jaccard",
        "kappa",
        "likelihood",
        "map",
        "mcc",
        "meteor",
        "miou",
        "mrr",
        "ndcg",
        "pearson",
        "precision",
        "psnr",
        "r2",
        "recall",
        "reward",
        "rouge",
        "sensitivity",
        "spearman",
        "specificity",
        "ssim",
        "top",
    ]
)


def known_direction(name: str) -> Direction | None:
    """Whether a metric is better when it is larger (``"max"``) or smaller (``"min"``), if a word of its name tells.

    Names that contain a word such as loss, error, perplexity, rmse or mae are better when they are smaller, unless
    they begin with ``neg``. Names with a word such as accuracy, auc or recall are better when they are larger. A negated
    name of the latter tells nothing: ``neg_log_likelihood`` falls.

    Examples:
        >>> [known_direction(name) for name in ["accuracy", "test_loss", "neg_mean_squared_error", "waiting"]]
        ['max', 'min', 'max', None]
    """
    words = re.findall(r"[a-z]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    negated = bool(words) and words[0] in ("neg", "negative")
    if not _SMALLER.isdisjoint(words):
        return "max" if negated else "min"
    # "f1" and "mIoU" are one word each.
    whole = re.findall(r"[a-z]+\d?", name.lower())
    return None if negated or _LARGER.isdisjoint([*words, *whole]) else "max"


def direction(name: str) -> Direction:
    """The direction of a metric that no target depends on: names that tell nothing are better when they are larger."""
    return known_direction(name) or "max"


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
