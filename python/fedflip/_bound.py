"""Theorem 1: a bound on the gradient after a number of rounds."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from fedflip import _fedflip
from fedflip._arguments import number, text
from fedflip._errors import InputError
from fedflip._fleet import as_fleet
from fedflip._plan import Plan
from fedflip._plan_html import html_text

__all__ = ["Bound", "bound"]

_logger = logging.getLogger("fedflip.bound")


@dataclass(frozen=True, slots=True, repr=False)
class Bound:
    """What Theorem 1 says about a plan.

    Attributes:
        scheme: How q was chosen.
        devices: N.
        sampling_variance: Σ a²/q.
        p: p of the two conditions.
        scaled_variance: N Σ a²/q, which must not exceed p.
        variance_condition: Whether N Σ a²/q ≤ p.
        learning_rate: η.
        learning_rate_max: 1/(4Lp), which the learning rate must not exceed.
        learning_rate_condition: Whether η ≤ 1/(4Lp).
        floor: The bound after infinitely many rounds.
        rounds: R, if it was given.
        bound: The bound after R rounds.
        threshold: ξ, if it was given.
        rounds_needed: Whole rounds until the bound is at most ξ; None if ξ lies at or below the floor.
        alpha: α of the round model; None without a threshold, or where sampling adds no variance.
        beta: β of the round model.
        p2_threshold_condition: Whether ξ > ε² + σ², the first of the paper's conditions for P2.
        p2_learning_rate_condition: Whether η ≤ min(1/(4Lp), 1/(4LN²)), the second one.
    """

    scheme: str
    devices: int
    sampling_variance: float
    p: float
    scaled_variance: float
    variance_condition: bool
    learning_rate: float
    learning_rate_max: float
    learning_rate_condition: bool
    floor: float
    rounds: float | None
    bound: float | None
    threshold: float | None
    rounds_needed: float | None
    alpha: float | None
    beta: float | None
    p2_threshold_condition: bool | None
    p2_learning_rate_condition: bool | None
    _text: str = field(compare=False)

    @property
    def holds(self) -> bool:
        """Whether both conditions of the theorem hold, so that it promises the bound."""
        return self.variance_condition and self.learning_rate_condition

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as ``fedflip bound --json`` prints them."""
        return {name: value for name, value in asdict(self).items() if name != "_text"}

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return html_text(self._text)


def bound(
    fleet: Any,
    *,
    learning_rate: float,
    smoothness: float,
    divergence: float,
    gradient_variance: float,
    initial_gap: float,
    rounds: float | None = None,
    threshold: float | None = None,
    p: float | None = None,
    scheme: str | None = None,
    bandwidth_mbps: float | None = None,
    variance: float | None = None,
) -> Bound:
    """Bounds the mean squared gradient after R rounds by Theorem 1, as ``fedflip bound`` does.

    The bound is 4(F(x₀) − F*)/(ηR) + 4ηLN(ε² + σ²) Σ a²/q, if N Σ a²/q ≤ p and η ≤ 1/(4Lp).

    Args:
        fleet: A :class:`Plan`, or a fleet whose q a scheme chooses.
        learning_rate: η.
        smoothness: L: the Lipschitz constant of the gradients.
        divergence: ε²: the squared distance of local gradients from the global one.
        gradient_variance: σ²: the variance of the stochastic gradients.
        initial_gap: F(x₀) − F*: how far the loss starts above its minimum.
        rounds: R: the rounds to evaluate the bound at.
        threshold: ξ: how many rounds until the bound is at most this. One of the two must be given.
        p: p of the two conditions, by default N Σ a²/q, the smallest that is allowed.
        scheme: How q is chosen, by default ``"full"``; a planned scheme needs a bandwidth and, except for auto, a
            threshold.
        bandwidth_mbps: The shared bandwidth, for a planned scheme.
        variance: The sampling variance of a round that ``auto`` plans for, by default 1.4.

    Examples:
        >>> import fedflip as ff
        >>> fleet = ff.Fleet.paper(100, seed=7)
        >>> ff.bound(fleet, learning_rate=0.001, smoothness=1, divergence=0.5, gradient_variance=0.5,
        ...          initial_gap=2.3, rounds=20000).holds
        True
    """
    arguments = {
        "learning_rate": number("learning_rate", learning_rate),
        "smoothness": number("smoothness", smoothness),
        "divergence": number("divergence", divergence),
        "gradient_variance": number("gradient_variance", gradient_variance),
        "initial_gap": number("initial_gap", initial_gap),
        "rounds": number("rounds", rounds, optional=True),
        "threshold": number("threshold", threshold, optional=True),
        "p": number("p", p, optional=True),
    }
    if isinstance(fleet, Plan):
        for name, value in (("scheme", scheme), ("bandwidth_mbps", bandwidth_mbps), ("variance", variance)):
            if value is not None:
                raise InputError(
                    f"{name}: the plan has its q already",
                    where=name,
                    value=value,
                    remedy=f"leave out {name}, or give the fleet instead of the plan",
                )
        values, shown, warnings = _fedflip.bound_of_plan(fleet._native, arguments)
    else:
        values, shown, warnings = _fedflip.bound(
            as_fleet(fleet)._native,
            arguments,
            text("scheme", "full" if scheme is None else scheme),
            number("bandwidth_mbps", bandwidth_mbps, optional=True),
            number("variance", variance, optional=True),
        )
    for warning in warnings:
        _logger.warning(warning)
    import json

    return Bound(**json.loads(values), _text=shown)
