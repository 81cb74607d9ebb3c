"""How a run ended, and what it looks like on a terminal and in a notebook."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fedflip._plan_html import html_table
from fedflip._runs_text import duration, metric_value, sparkline

if TYPE_CHECKING:
    from fedflip._run import Run

__all__ = ["End", "run_end", "run_html", "run_text"]


@dataclass(frozen=True)
class End:
    """How a run ended.

    Attributes:
        reason: ``target``, ``rounds_max``, ``virtual_time_max`` or ``diverged``.
        detail: More about the end, where there is more to say.
        rounds: The number of rounds.
        secs: The time of the run: virtual, or real where devices are real.
        metrics: The metrics of the last model; empty if it was not evaluated.
        test: The metrics of the last model on test samples, where all others are on validation samples.
    """

    reason: str
    detail: str | None
    rounds: int
    secs: float
    metrics: dict[str, float] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)


def run_end(line: str | None, summary: dict[str, Any]) -> End | None:
    """The end of a run whose last line is given; None without one."""
    if line is None:
        return None
    values = json.loads(line)
    # The last line has metrics only if the last round has none.
    last = summary["metrics"] if summary["evaluated_round"] == values["rounds"] else {}
    return End(
        reason=values["reason"],
        detail=values.get("detail"),
        rounds=values["rounds"],
        secs=values["secs"],
        metrics=values.get("metrics") or last,
        test=values.get("test", {}),
    )


def _facts(run: Run) -> tuple[str, str, list[tuple[str, str]]]:
    """The end in words, the name of the time, and the last metrics in words."""
    header, summary = run.header, run.summary
    time = "real time" if header.get("deployed") else "virtual time"
    shown = {metric["name"]: metric["display"] for metric in header["metrics"]}
    metrics = [
        (name, metric_value(value, shown.get(name, "number"))) for name, value in summary["metrics"].items()
    ]
    return run._native.end_in_words or "interrupted or in progress", time, metrics


def run_text(run: Run) -> str:
    """A run in one line."""
    end, time, metrics = _facts(run)
    rounds = "1 round" if len(run) == 1 else f"{len(run):,} rounds"
    headline = "".join(f", {name} {value}" for name, value in metrics[:1])
    spent = duration(3600 * run.summary["hours"])
    return (
        f"Run({run.task} under {run.scheme}, seed {run.seed}: {rounds} in {spent} of {time}{headline}; {end})"
    )


def run_html(run: Run) -> str:
    """The key numbers of a run, and its headline metric as a small curve."""
    end, time, metrics = _facts(run)
    summary = run.summary
    rows = [
        ["task", run.task],
        ["scheme, seed", f"{run.scheme}, {run.seed}"],
        ["rounds", f"{len(run):,}, of which {summary['empty_rounds']:,} are empty"],
        [time, duration(3600 * summary["hours"])],
        ["participants", f"{summary['mean_participants']:.3g} of {run.devices:,} a round"],
        *([name, value] for name, value in metrics),
        ["end", end],
        *([["folder", str(run.folder)]] if run.folder else []),
    ]
    curve = ""
    if metrics:
        name = metrics[0][0]
        evaluations = run.evaluations
        column = name if name not in ("round", "secs") else f"metric_{name}"
        curve = sparkline(evaluations["secs"].tolist(), evaluations[column].tolist(), f"{name} over {time}")
    return html_table([("run", False), ("", False)], rows) + curve
