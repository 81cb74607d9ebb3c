"""The shares of rounds in which devices took part, against the planned ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fedflip._arguments import number, wrong
from fedflip._errors import InputError
from fedflip._run import Run
from fedflip.plots._style import GREY, axes, grid, kinds, legend_beside, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]

# Up to this many rounds the confidence band is exact; above it, the normal distribution is as good.
_EXACT_ROUNDS_MAX = 20_000
_EDGE_POINTS = 200


def participation(run: Run, *, confidence: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draws the share of rounds in which each device took part against its participation probability q.

    A device on the dashed line took part as often as planned. Chance alone keeps a device within the grey area with at
    least the given confidence. If a plan was replaced, only rounds under the last plan count.

    Args:
        run: The run.
        confidence: The confidence of the band.
        ax: The Axes to draw into; by default a new figure.

    Raises:
        InputError: The run has no rounds, or its scheme has no q; or matplotlib is not installed.
    """
    if not isinstance(run, Run):
        problem = f"run is {type(run).__name__}, and should be a run"
        raise InputError(
            problem, where="run", value=run, remedy="open a run folder with fedflip.open(folder)"
        )
    remedy = "give a share between 0 and 1, such as 0.95"
    if number("confidence", confidence, above=0, most=1, remedy=remedy) == 1:
        raise wrong("confidence", confidence, "a share below 1", remedy)
    if not run._native.has_q:
        problem = f"the scheme {run.scheme} has no participation probabilities that are known before a round"
        raise InputError(
            problem, where="run", value=run.scheme, remedy="draw a run of a scheme with q, such as auto"
        )
    rounds = len(run) - run._native.planned_after
    if rounds == 0:
        raise InputError(
            "the run has no rounds", where="run", value=run, remedy="draw a run with at least one round"
        )
    q, shares = run.q, observed_shares(run)
    drawn = axes(ax, "participation", (6.0, 3.9))
    shown = np.asarray(thinned(len(q)))
    most = min(1.0, 1.06 * max(float(q.max()), float(shares[shown].max())))
    edge = np.linspace(0, most, _EDGE_POINTS)
    low, high = band(edge, rounds, confidence)
    label = f"{100 * confidence:g} % by chance"
    drawn.fill_between(edge, low, np.minimum(high, most), color=GREY, alpha=0.22, linewidth=0, label=label)
    drawn.plot([0, most], [0, most], "--", color=GREY, linewidth=1, label="as planned")
    names = run.fleet.names
    for kind, positions, look in kinds(names[place] for place in shown):
        at = shown[positions]
        drawn.scatter(q[at], shares[at], s=22, linewidths=0, alpha=0.85, label=kind or "devices", **look)
    drawn.set_xlabel("participation probability $q$")
    drawn.set_ylabel(f"share of {rounds:,} rounds")
    drawn.set(xlim=(0, most), ylim=(0, most))
    drawn.set_box_aspect(1)
    grid(drawn)
    legend_beside(drawn)
    return drawn


def observed_shares(run: Run) -> Numbers:
    """The share of rounds under the last plan in which each device took part."""
    after = run._native.planned_after
    table = run.participants
    devices = table["device"][table["round"] > after]
    counts = np.bincount(devices[devices < len(run.q)], minlength=len(run.q))
    return np.asarray(counts / (len(run) - after), dtype=np.float64)


def band(q: Numbers, rounds: int, confidence: float) -> tuple[Numbers, Numbers]:
    """The shares between which a device with probability q is found with at least the confidence.

    Examples:
        >>> low, high = band(np.array([0.0, 0.5, 1.0]), rounds=100, confidence=0.95)
        >>> low.tolist(), high.tolist()
        ([0.0, 0.4, 1.0], [0.0, 0.6, 1.0])
    """
    tail = (1 - confidence) / 2
    if rounds > _EXACT_ROUNDS_MAX:
        from statistics import NormalDist

        reach = NormalDist().inv_cdf(1 - tail) * np.sqrt(q * (1 - q) / rounds)
        return np.clip(q - reach, 0, 1), np.clip(q + reach, 0, 1)
    counts = np.arange(rounds + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, rounds + 1)))])
    log_choose = log_factorial[-1] - log_factorial - log_factorial[::-1]
    lows, highs = np.empty(len(q)), np.empty(len(q))
    for place, chance in enumerate(q.tolist()):
        if chance <= 0 or chance >= 1:
            lows[place] = highs[place] = round(chance)
            continue
        log_mass = log_choose + counts * math.log(chance) + (rounds - counts) * math.log1p(-chance)
        cumulative = np.cumsum(np.exp(log_mass))
        # The least counts that are reached from below with more than one tail, and with all but one tail.
        lows[place] = np.searchsorted(cumulative, tail, side="right") / rounds
        highs[place] = min(rounds, int(np.searchsorted(cumulative, 1 - tail))) / rounds
    return lows, highs
