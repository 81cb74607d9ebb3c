"""The results of comparisons, sweeps and pilots."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedflip._run import Run, open_kept

__all__ = ["Comparison", "Pilot", "Sweep"]

#: The columns of a table for people.
_SHOWN = ("scheme", "hours", "std", "rounds", "participants", "ratio", "reached")

#: All columns.
_COLUMNS = (*_SHOWN, "seeds", "lower_bound", "diverged", "error")


#: The seed after the largest one is 0.
_SEEDS = 1 << 63


class Comparison:
    """Every scheme with every seed, under equal settings.

    Attributes:
        result: The content of ``compare.json``.
        folder: The folder of all runs.
    """

    def __init__(
        self,
        result: dict[str, Any],
        folder: Path,
        kept: tempfile.TemporaryDirectory[str] | None = None,
        first_seed: int | None = None,
    ) -> None:
        self.result = result
        self.folder = folder
        self._first_seed = first_seed
        # A temporary folder lives as long as the comparison or one of its runs.
        self._kept = kept

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each scheme: hours to the target with their spread, rounds, participants, ratio to the reference."""
        return [_row(scheme) for scheme in self.result["schemes"]]

    @property
    def schemes(self) -> list[str]:
        """The names of the schemes, in the order in which they were asked for."""
        return [scheme["scheme"] for scheme in self.result["schemes"]]

    @property
    def runs(self) -> list[Run]:
        """The runs of this comparison, opened from their folders: by scheme, and by seed in numerical order.

        A run whose folder is missing is left out, and so are other folders, such as those of an earlier comparison with
        more seeds.
        """
        folders = [path for scheme in self.result["schemes"] for path in self._folders(scheme)]
        return [open_kept(path, self._kept) for path in folders]

    def _folders(self, scheme: dict[str, Any]) -> list[Path]:
        """The folders of a scheme's runs, one for each seed."""
        runs = self.folder / "runs"
        # As the native code writes them: the file of a scheme may be in another folder.
        name = scheme["scheme"].replace(os.sep, "+") + "-seed"
        if self._first_seed is None:
            endings = [path.name.removeprefix(name) for path in runs.glob("*") if path.name.startswith(name)]
            # The seeds of a comparison follow each other from the first one.
            seeds = sorted(int(ending) for ending in endings if ending.isdecimal())[: scheme["seeds"]]
        else:
            seeds = [(self._first_seed + number) % _SEEDS for number in range(scheme["seeds"])]
        return [path for seed in sorted(seeds) if (path := runs / f"{name}{seed}").is_dir()]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draws the metric over virtual time, a band over the seeds for each scheme; returns the Axes."""
        from fedflip import plots

        return plots.accuracy(self.runs, metric=metric, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        title: str | None = None,
        reference: str | None = None,
        round: int | None = None,
        target: str | None = None,
    ) -> Path:
        """Writes a report of all runs, as ``fedflip report`` does.

        Args:
            path: The file to write, such as ``report.html``. Formats of several files need a folder and the format, or
                a pattern such as ``figures/*.pdf``.
            format: ``html``, ``md``, ``text``, ``json``, ``svg``, ``pdf``, ``png``, ``latex`` or ``csv``; by default the
                ending of the path decides.
            title: The title of the report.
            reference: The scheme with which ratios compare.
            round: The round to show as a timeline.
            target: The target that times are to, such as ``"loss=0.5"``, instead of those of the runs.

        Returns:
            The file, or the folder of the files.
        """
        from fedflip._runs_report import write_report

        return write_report(
            [self.folder], path, format=format, title=title, reference=reference, round=round, target=target
        )

    def __repr__(self) -> str:
        target = self.result["target"]
        head = f"{self.result['task']} to {target['metric']} {target['at']:g}, ratio to {self.result['reference']}"
        # The table has no room for the reason why a scheme has no times.
        errors = [f"{row['scheme']}: {row['error']}" for row in self.rows if row["error"]]
        return "\n".join([head, _text(self.rows, _SHOWN), *errors])

    def _repr_html_(self) -> str:
        has_errors = any(row["error"] for row in self.rows)
        return _html(self.rows, (*_SHOWN, "error") if has_errors else _SHOWN)


class Sweep:
    """A comparison at each point of a sweep.

    Attributes:
        points: The keys of each point, and the comparison there.
        errors: The keys of each point without a comparison, and the reason: pilots that measured no constants there.
        result: The content of ``sweep.json``.
        folder: The folder of all comparisons.
        retimed: The number of runs that were retimed and not trained, because only the clock differs from another run.
    """

    def __init__(
        self,
        points: list[tuple[dict[str, Any], Comparison]],
        errors: list[tuple[dict[str, Any], str]],
        *,
        result: dict[str, Any],
        folder: Path,
        retimed: int,
    ) -> None:
        self.points = points
        self.errors = errors
        self.result = result
        self.folder = folder
        self.retimed = retimed

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each point and scheme. A point without a comparison has one with the error alone."""
        rows = [{**at, **row} for at, comparison in self.points for row in comparison.rows]
        return rows + [{**at, **dict.fromkeys(_COLUMNS), "error": error} for at, error in self.errors]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Comparison]]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return _text(self.rows, self._shown())

    def _repr_html_(self) -> str:
        return _html(self.rows, self._shown())

    def _shown(self) -> tuple[str, ...]:
        """The columns for people: the keys of the sweep, and the errors if there are any."""
        keys = dict.fromkeys(key for at, _ in [*self.points, *self.errors] for key in at)
        has_errors = any(row["error"] for row in self.rows)
        return (*keys, *_SHOWN, *(("error",) if has_errors else ()))


@dataclass(frozen=True)
class Pilot:
    """α and β of Theorem 1, as pilots measured them.

    Attributes:
        alpha: α.
        beta: β.
        alpha_interval: The confidence interval of α; None with too few seeds. An end that is None has no limit.
        beta_interval: The confidence interval of β, likewise.
        hours: The virtual hours of a pair of pilots.
        loss: The loss to which pilots ran.
        runs: A summary of each pilot.
    """

    alpha: float
    beta: float
    alpha_interval: list[float | None] | None
    beta_interval: list[float | None] | None
    hours: float
    loss: float
    runs: list[dict[str, Any]] = field(repr=False)


def _row(scheme: dict[str, Any]) -> dict[str, Any]:
    hours = scheme["hours"] or {}
    return {
        "scheme": scheme["scheme"],
        "hours": hours.get("mean"),
        "std": hours.get("std"),
        "rounds": scheme["rounds"],
        "participants": scheme["mean_participants"],
        "ratio": scheme["ratio_to_reference"],
        "reached": scheme["reached"],
        # Runs of other shards have not failed: a shard counts its own.
        "seeds": scheme.get("seeds_here", scheme["seeds"]),
        "lower_bound": scheme["lower_bound"],
        "diverged": scheme["diverged"],
        "error": scheme.get("error"),
    }


def _cells(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[list[str]]:
    def shown(row: dict[str, Any], name: str) -> str:
        value = row[name]
        bound = ">" if name == "hours" and row["lower_bound"] else ""
        if value is None:
            return "–"
        return bound + (f"{value:.4g}" if isinstance(value, float) else str(value))

    return [[shown(row, name) for name in names] for row in rows]


def _text(rows: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    lines = [list(names), *_cells(rows, names)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _html(rows: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    from html import escape

    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
        for line in _cells(rows, names)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
