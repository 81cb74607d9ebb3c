"""A metric over time, with a band over the seeds for each scheme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedflip._arguments import choice, flag
from fedflip._errors import InputError
from fedflip._run import Run
from fedflip._runs_text import time_unit
from fedflip.plots._style import GREY, axes, grid, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]
Runs = Run | Iterable[Run] | Mapping[str, Run | Iterable[Run]]

_CENTERS = ("mean", "median")
_BANDS = ("range", "std", "quartiles", "none")
# More points than a figure has pixels to spare for.
_POINTS_MAX = 600


def accuracy(
    runs: Runs,
    metric: str | None = None,
    *,
    center: str = "mean",
    band: str = "range",
    target: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draws a metric over virtual time, one line for each scheme with a band over its seeds.

    Between two evaluations, and after its end, a run keeps its last value, so that a line is always over the same seeds. A
    line ends in a filled dot if all its runs reached their target, and in a hollow one otherwise.

    Args:
        runs: A run, several, or several by label: ``{"ours": runs, "K of N": others}``. Without labels, runs are grouped
            by scheme.
        metric: The name of the metric, by default the headline of the task.
        center: The line: the ``mean`` or the ``median`` over the seeds.
        band: The area around it: the ``range``, the standard deviation ``std``, the ``quartiles``, or ``none``.
        target: Whether to draw the value at which runs end.
        ax: The Axes to draw into; by default a new figure.

    Raises:
        InputError: There are no runs, or no run has the metric; or matplotlib is not installed.
    """
    choice("center", center, _CENTERS)
    choice("band", band, _BANDS)
    flag("target", target)
    groups = _groups(runs)
    infos = _metric(groups, metric)
    name, share = str(infos["name"]), infos["display"] == "share"
    curves = {label: [_curve(run, name) for run in group] for label, group in groups.items()}
    curves = {label: [curve for curve in group if len(curve[0])] for label, group in curves.items()}
    if not any(curves.values()):
        raise InputError(
            f"no run has evaluated {name}", where="runs", value=runs, remedy="open runs with an evaluation"
        )
    drawn = axes(ax, "accuracy", (5.2, 3.6))
    unit_secs, unit = time_unit(max(curve[0][-1] for group in curves.values() for curve in group))
    factor = 100.0 if share else 1.0
    styles = line_styles(list(curves))
    for label, group in curves.items():
        if not group:
            continue
        secs, values = _together(group)
        line, low, high = _over_seeds(values, center, band)
        x, style = secs / unit_secs, styles[label]
        if low is not None and high is not None and len(group) > 1:
            drawn.fill_between(x, factor * low, factor * high, color=style["color"], alpha=0.18, linewidth=0)
        seeds = f" ({len(group)} seeds)" if len(group) > 1 else ""
        drawn.plot(x, factor * line, label=f"{label}{seeds}", linewidth=1.6, **style)
        reached = all(run.end is not None and run.end.reason == "target" for run in groups[label])
        face = style["color"] if reached else "white"
        drawn.plot(x[-1:], factor * line[-1:], "o", color=style["color"], markerfacecolor=face, markersize=5)
    first = next(run for group in groups.values() for run in group)
    if target:
        _draw_target(drawn, groups, name, factor)
    time = "real time" if first.header.get("deployed") else "virtual time"
    drawn.set_xlabel(f"{time} ({unit})")
    drawn.set_ylabel(f"{name} (%)" if share else name)
    drawn.set_xlim(left=0)
    grid(drawn)
    drawn.legend(frameon=False)
    return drawn


def _groups(runs: Runs) -> dict[str, list[Run]]:
    """Runs by label, or by scheme."""

    def listed(some: Any) -> list[Run]:
        is_one = isinstance(some, Run | str) or not isinstance(some, Iterable)
        found = [some] if is_one else list(some)
        for run in found:
            if not isinstance(run, Run):
                problem = f"runs has a {type(run).__name__}, and should have runs"
                raise InputError(
                    problem, where="runs", value=run, remedy="open run folders with fedflip.open(folder)"
                )
        return found

    groups: dict[str, list[Run]] = {}
    if isinstance(runs, Mapping):
        groups = {str(label): listed(some) for label, some in runs.items()}
    else:
        for run in listed(runs):
            groups.setdefault(run.scheme, []).append(run)
    groups = {label: group for label, group in groups.items() if group}
    if not groups:
        raise InputError(
            "there are no runs to draw", where="runs", value=runs, remedy="give at least one run"
        )
    return groups


def _metric(groups: Mapping[str, list[Run]], asked: str | None) -> dict[str, Any]:
    """The metric to draw, as a header declares it."""
    declared: dict[str, dict[str, Any]] = {}
    for group in groups.values():
        for run in group:
            for info in run.header["metrics"]:
                declared.setdefault(info["name"], info)
    if not declared:
        raise InputError(
            "the runs have no metrics", where="runs", value=None, remedy="give runs that evaluate a model"
        )
    if asked is None:
        return next(iter(declared.values()))
    return declared[choice("metric", asked, list(declared))]


def _curve(run: Run, metric: str) -> tuple[Numbers, Numbers]:
    """The times and values of all evaluations of a run that have the metric."""
    table = run.evaluations
    column = f"metric_{metric}" if metric in ("round", "secs") else metric
    if column not in table:
        return np.empty(0), np.empty(0)
    secs, values = table["secs"], table[column]
    has = np.isfinite(values)
    return secs[has], values[has]


def _together(curves: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """All runs at the same times, at which each has been evaluated: times, and a row of values for each run."""
    begin = max(secs[0] for secs, _ in curves)
    secs = np.unique(np.concatenate([secs for secs, _ in curves]))
    secs = secs[secs >= begin]
    if len(secs) > _POINTS_MAX:
        wanted = np.linspace(secs[0], secs[-1], _POINTS_MAX)
        secs = np.unique(secs[np.searchsorted(secs, wanted).clip(max=len(secs) - 1)])
    rows = [values[np.searchsorted(times, secs, side="right") - 1] for times, values in curves]
    return secs, np.array(rows)


def _over_seeds(values: Numbers, center: str, band: str) -> tuple[Numbers, Numbers | None, Numbers | None]:
    line = np.mean(values, axis=0) if center == "mean" else np.median(values, axis=0)
    if band == "range":
        return line, values.min(axis=0), values.max(axis=0)
    if band == "quartiles":
        low, high = np.quantile(values, [0.25, 0.75], axis=0)
        return line, low, high
    if band == "std" and len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        return line, line - spread, line + spread
    return line, None, None


def _draw_target(drawn: Axes, groups: Mapping[str, list[Run]], metric: str, factor: float) -> None:
    stops = [run.header.get("stop") for group in groups.values() for run in group]
    values = {stop["at"] for stop in stops if stop and stop["metric"] == metric}
    if len(values) == 1:
        drawn.axhline(
            factor * values.pop(), color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label="target", zorder=1
        )
