"""Numbers of runs in words, for terminals and notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

__all__ = ["duration", "metric_value", "sparkline"]

# Units of time, and the number of seconds from which each is used.
_UNITS = ((1e-3, "ms", 0.0), (1.0, "s", 1.0), (60.0, "min", 120.0), (3600.0, "h", 7200.0))
_WIDTH, _HEIGHT, _EDGE = 240, 48, 3


def duration(secs: float) -> str:
    """Seconds in the unit that fits.

    Examples:
        >>> duration(0.636), duration(90), duration(5000), duration(1e5)
        ('636 ms', '90 s', '83.3 min', '27.8 h')
    """
    if secs == 0:
        return "0 s"
    unit_secs, unit, _ = next(unit for unit in reversed(_UNITS) if secs >= unit[2])
    return f"{secs / unit_secs:.3g} {unit}"


def time_unit(secs: float) -> tuple[float, str]:
    """The unit for an axis that reaches this far: its seconds, and its name.

    Examples:
        >>> time_unit(9000)
        (3600.0, 'h')
    """
    unit_secs, unit, _ = next(unit for unit in reversed(_UNITS) if secs >= unit[2])
    return unit_secs, unit


def metric_value(value: float, display: str) -> str:
    """A value of a metric; shares are in percent.

    Examples:
        >>> metric_value(0.625, "share"), metric_value(0.625, "number")
        ('62.5 %', '0.625')
    """
    return f"{100 * value:.1f} %" if display == "share" else f"{value:.3g}"


def sparkline(xs: Sequence[float], ys: Sequence[float], label: str) -> str:
    """A small curve as SVG; an empty text without two points."""
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(points) < 2:
        return ""
    left, right = points[0][0], points[-1][0]
    low, high = min(y for _, y in points), max(y for _, y in points)

    def place(x: float, y: float) -> str:
        across = (x - left) / (right - left) if right > left else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return (
            f"{_EDGE + across * (_WIDTH - 2 * _EDGE):.1f},{_HEIGHT - _EDGE - up * (_HEIGHT - 2 * _EDGE):.1f}"
        )

    path = " ".join(place(x, y) for x, y in _thinned(points))
    end_x, end_y = place(*points[-1]).split(",")
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f"<title>{html.escape(label)}</title>"
        f'<polyline points="{path}" fill="none" stroke="#0072B2" stroke-width="1.5"/>'
        f'<circle cx="{end_x}" cy="{end_y}" r="2.5" fill="#0072B2"/></svg>'
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most one point for each pixel, with the last one."""
    step = max(1, len(points) // _WIDTH)
    return [*points[:-1:step], points[-1]]
