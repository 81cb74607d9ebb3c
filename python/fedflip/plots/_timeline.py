"""When devices download, compute and upload in a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedflip._errors import InputError
from fedflip._run import Run
from fedflip._runs_text import duration, time_unit
from fedflip._table import Table
from fedflip.plots._style import BLUE, GREEN, ORANGE, SKY, VERMILION, axes, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]

# What devices do, one after the other: the column, the label and the colour.
_PARTS = (
    ("download_secs", "download", GREEN),
    ("asked_secs", "asked", ORANGE),
    ("compute_secs", "compute", SKY),
    ("upload_secs", "upload", BLUE),
)
# Devices that fit a page; of more, those that compute longest are shown.
_ROWS_MAX = 50


def timeline(run: Run, rounds: int | Sequence[int] | range | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws when devices download, compute and upload, one row for each device of the cohort.

    Devices that did not report are hatched. The numbers at the right are the shares of the bandwidth.

    Args:
        run: The run.
        rounds: A round, counted from 1, or several that follow each other; by default the first one of those with the most
            devices.
        ax: The Axes to draw into; by default a new figure.

    Raises:
        InputError: There is no such round, nobody took part in it, or the scheme has no rounds; or matplotlib is not
            installed.
    """
    if not isinstance(run, Run):
        problem = f"run is {type(run).__name__}, and should be a run"
        raise InputError(
            problem, where="run", value=run, remedy="open a run folder with fedflip.open(folder)"
        )
    if not run._native.has_rounds:
        problem = f"under {run.scheme}, devices work without rounds"
        raise InputError(problem, where="run", value=run.scheme, remedy="draw a run of a scheme with rounds")
    chosen = [_fullest(run)] if rounds is None else sorted(run._chosen_rounds(rounds))
    table = run.times(chosen)
    if len(table) == 0:
        words = f"round {chosen[0]}" if len(chosen) == 1 else "these rounds"
        raise InputError(
            f"nobody took part in {words}", where="rounds", value=rounds, remedy="name another round"
        )
    all_rounds = run.rounds
    begins = dict(zip(all_rounds["round"].tolist(), all_rounds["start_secs"].tolist(), strict=True))
    lasts = dict(zip(all_rounds["round"].tolist(), all_rounds["round_secs"].tolist(), strict=True))
    begin = begins[chosen[0]]
    end = max(begins[number] + lasts[number] for number in chosen) - begin
    rows, left_out = _rows(table)
    row = 0.25 if len(rows) <= 25 else 0.15
    drawn = axes(ax, "timeline", (6.2, 1.1 + max(1.2, row * len(rows))))
    unit_secs, unit = time_unit(max(end, 1e-3))
    used = _draw_bars(drawn, table, rows, begin, unit_secs)
    for number in chosen:
        drawn.axvline((begins[number] + lasts[number] - begin) / unit_secs, color="#4D4D4D", linewidth=0.9)
        if len(chosen) > 1 and lasts[number] > 0.03 * end:
            middle = (begins[number] + lasts[number] / 2 - begin) / unit_secs
            text = f"round {number}" if lasts[number] > 0.2 * end else f"{number}"
            drawn.annotate(
                text, (middle, 1), (0, 3), xycoords=drawn.get_xaxis_transform(), textcoords="offset points", ha="center",
                va="bottom", fontsize="small", color="#4D4D4D",
            )  # fmt: skip
    names = run.fleet.names if run._native.has_fleet else ()
    labels = [names[n] if n < len(names) else f"device {n}" for n in rows]
    drawn.set_yticks(range(len(rows)), labels, fontsize="small" if row > 0.2 else "x-small")
    drawn.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 1.001 * end / unit_secs if end > 0 else 1))
    drawn.set_xlabel(
        _label(run, chosen, unit) + (f"\n{left_out} faster devices are left out" if left_out else "")
    )
    drawn.tick_params(axis="y", length=0)
    if len(chosen) == 1:
        _draw_rates(drawn, table, rows, "small" if row > 0.2 else "x-small")
    grid(drawn, "x")
    from matplotlib.transforms import ScaledTranslation

    # A line of text above the Axes, whatever their height; above the numbers of rounds, if there are any.
    up = ScaledTranslation(0, (6 if len(chosen) == 1 else 20) / 72, drawn.figure.dpi_scale_trans)
    drawn.legend(
        handles=used, frameon=False, ncols=len(used), loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0,
        borderpad=0, bbox_transform=drawn.transAxes + up, fontsize="small", columnspacing=1.2, handlelength=1.4,
    )  # fmt: skip
    return drawn


def _fullest(run: Run) -> int:
    table = run.rounds
    if not len(run) or not table["participants"].any():
        raise InputError(
            "the run has no round with devices", where="run", value=run, remedy="draw another run"
        )
    return int(table["round"][np.argmax(table["participants"])])


def _rows(table: Table) -> tuple[list[int], int]:
    """The devices to show, those that compute longest last, and the number of devices that are left out."""
    longest: dict[int, float] = {}
    compute = np.nan_to_num(table["compute_secs"])
    for device, secs in zip(table["device"].tolist(), compute.tolist(), strict=True):
        longest[device] = max(secs, longest.get(device, 0.0))
    order = sorted(longest, key=lambda device: (longest[device], device))
    return order[-_ROWS_MAX:], max(0, len(order) - _ROWS_MAX)


def _draw_bars(drawn: Axes, table: Table, rows: list[int], begin: float, unit_secs: float) -> list[Any]:
    """Draws one bar for each part of each device, and returns the signs of the legend."""
    from matplotlib.patches import Patch

    places = {device: place for place, device in enumerate(rows)}
    shown = np.array([device in places for device in table["device"].tolist()])
    y = np.array([places[device] for device in table["device"][shown].tolist()], dtype=np.float64)
    left = (table["start_secs"][shown] - begin) / unit_secs
    reported = table["reported"][shown] == 1
    signs = []
    for column, label, colour in _PARTS:
        width = np.nan_to_num(table[column][shown]) / unit_secs
        if width.any():
            for which, hatch in ((reported, None), (~reported, "////")):
                drawn.barh(
                    y[which], width[which], left=left[which], height=0.72, color=colour, hatch=hatch, edgecolor="white",
                    linewidth=0 if hatch is None else 0.4,
                )  # fmt: skip
            signs.append(Patch(facecolor=colour, label=label))
        left = left + width
    if not reported.all():
        signs.append(Patch(facecolor="#BFBFBF", hatch="////", edgecolor="white", label="did not report"))
        drawn.plot(left[~reported], y[~reported], "x", color=VERMILION, markersize=5, clip_on=False, zorder=4)
    return signs


def _draw_rates(drawn: Axes, table: Table, rows: list[int], fontsize: str) -> None:
    rates = dict(zip(table["device"].tolist(), table["mbps"].tolist(), strict=True))
    place: dict[str, Any] = {"transform": drawn.get_yaxis_transform(), "fontsize": fontsize, "clip_on": False}
    for row, device in enumerate(rows):
        drawn.text(1.015, row, f"{rates[device]:.3g}", va="center", **place)
    drawn.annotate(
        "Mbit/s",
        (1.015, 1),
        (0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize="small",
        va="bottom",
    )


def _label(run: Run, chosen: list[int], unit: str) -> str:
    if len(chosen) > 1:
        return f"time since round {chosen[0]} began ({unit})"
    secs = run.rounds["round_secs"][run.rounds["round"] == chosen[0]][0]
    return f"time since round {chosen[0]} began ({unit}); it took {duration(float(secs))}"
