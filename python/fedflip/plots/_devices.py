"""Devices: what they cost, and how often a plan samples them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from fedflip._errors import InputError
from fedflip.plots._style import axes, grid, kinds, legend_beside, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]

# The range of values from which an axis is logarithmic.
_LOG_FROM = 8.0
_AREA_MEAN, _AREA_MAX = 34.0, 320.0
# More devices than this have smaller marks.
_MANY = 400


class FleetLike(Protocol):
    """What pictures need of a fleet; :class:`fedflip.Fleet` has it."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def compute_secs(self) -> Numbers: ...
    @property
    def comm_secs(self) -> Numbers: ...
    @property
    def samples(self) -> Numbers: ...


class PlanLike(Protocol):
    """What pictures need of a plan; :class:`fedflip.Plan` has it."""

    @property
    def q(self) -> Numbers: ...
    @property
    def weights(self) -> Numbers: ...
    @property
    def fleet(self) -> FleetLike: ...


def plan(plan: PlanLike, *, ax: Axes | None = None) -> Axes:
    """Draws the participation probability of each device against the time that a round with this device alone takes.

    The area of a mark is the device's share of the data: of two devices that cost the same, the one with more data takes
    part more often.

    Args:
        plan: A plan. Without a bandwidth, uploads are at 1 Mbit/s.
        ax: The Axes to draw into; by default a new figure.

    Raises:
        InputError: The argument is no plan, or matplotlib is not installed.
    """
    _check(
        "plan", plan, ("q", "weights", "fleet"), "make a plan with fedflip.plan(fleet, bandwidth_mbps=100)"
    )
    fleet = plan.fleet
    mbps: float | None = getattr(plan, "bandwidth_mbps", None)
    alone_secs = fleet.compute_secs + fleet.comm_secs / (mbps or 1.0)
    drawn = axes(ax, "plan", (6.2, 3.8))
    takes_part = np.asarray(plan.q > 0)
    _scatter(drawn, fleet.names, (alone_secs, plan.q), fleet.samples, takes_part)
    drawn.set_xlabel(f"round of the device alone at {mbps or 1:g} Mbit/s (s)")
    drawn.set_ylabel("participation probability $q$")
    _finish(
        drawn,
        (alone_secs[takes_part], plan.q[takes_part]),
        len(fleet.compute_secs),
        "area: share of the data",
    )
    return drawn


def fleet(fleet: FleetLike, *, ax: Axes | None = None) -> Axes:
    """Draws how long the devices of a fleet compute and how many samples they hold, one mark for each device.

    The area of a mark is the upload time at the same rate.

    Args:
        fleet: A fleet.
        ax: The Axes to draw into; by default a new figure.

    Raises:
        InputError: The argument is no fleet, or matplotlib is not installed.
    """
    _check(
        "fleet", fleet, ("names", "compute_secs", "comm_secs", "samples"), "make one with fedflip.Fleet(…)"
    )
    drawn = axes(ax, "fleet", (6.2, 3.8))
    everybody = np.ones(len(fleet.compute_secs), dtype=np.bool_)
    _scatter(drawn, fleet.names, (fleet.compute_secs, fleet.samples), fleet.comm_secs, everybody)
    drawn.set_xlabel("compute time per round (s)")
    drawn.set_ylabel("samples")
    _finish(drawn, (fleet.compute_secs, fleet.samples), len(everybody), "area: upload time")
    return drawn


def _check(where: str, value: Any, needs: tuple[str, ...], remedy: str) -> None:
    missing = [name for name in needs if not hasattr(value, name)]
    if missing:
        problem = f"{where} is {type(value).__name__}, which has no {missing[0]}"
        raise InputError(problem, where=where, value=value, remedy=remedy)


def _scatter(
    drawn: Axes,
    names: Sequence[str],
    at: tuple[Numbers, Numbers],
    sizes: Numbers,
    which: npt.NDArray[np.bool_],
) -> None:
    """Draws a mark for each device, with a colour for each type."""
    x, y = at
    shown = np.asarray(thinned(len(x)))
    shown = shown[which[shown]]
    mean = float(sizes.mean()) or 1.0
    areas = np.clip(_AREA_MEAN * sizes / mean, 4.0, _AREA_MAX)
    if len(shown) > _MANY:
        areas = areas / 4
    for kind, positions, look in kinds(names[place] for place in shown):
        of_kind = shown[positions]
        drawn.scatter(
            x[of_kind], y[of_kind], s=areas[of_kind], label=kind or "devices", alpha=0.7, linewidths=0.4,
            edgecolors="white", **look,
        )  # fmt: skip


def _finish(drawn: Axes, values: tuple[Numbers, Numbers], devices: int, note: str) -> None:
    """Scales, grid and legend."""
    _scale(values[0], drawn.set_xscale, drawn.set_xlim, drawn.xaxis)
    _scale(values[1], drawn.set_yscale, drawn.set_ylim, drawn.yaxis)
    grid(drawn)
    shown = len(thinned(devices))
    title = note if shown == devices else f"{shown:,} of {devices:,} devices\n{note}"
    legend = legend_beside(drawn, title=title, title_fontsize="small", alignment="left")
    for handle in legend.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([_AREA_MEAN])


def _scale(numbers: Numbers, set_scale: Any, set_limits: Any, axis: Any) -> None:
    """A logarithmic scale for numbers of a wide range, and otherwise one from 0."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if low > 0 and high > _LOG_FROM * low:
        set_scale("log")
        set_limits(low / 1.25, 1.25 * high)
        # Few decades have room for more labels.
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())
    else:
        set_limits(0, 1.1 * high or 1.0)
