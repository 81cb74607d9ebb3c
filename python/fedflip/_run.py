"""Runs: what was recorded, the model, and what it looks like."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count, listed, path_text
from fedflip._errors import InputError
from fedflip._fleet import Fleet
from fedflip._runs_report import check_no_run_file, write_file, write_report
from fedflip._runs_shown import End, run_end, run_html, run_text
from fedflip._table import Table

__all__ = ["End", "Run", "open", "write_report"]

Model = dict[str, npt.NDArray[np.float32]]


@final
class Run:
    """A run: simulated or on real devices, ended or interrupted, in a folder or in memory.

    :func:`simulate` and :func:`open` make runs. A run is a snapshot: rounds that are recorded later are not part of it. A
    pickled run holds all its records and its model.

    Examples:
        >>> import fedflip as ff
        >>> run = ff.simulate(ff.Scenario("synthetic"), plan="full", rounds_max=3, seed=1, progress=False)
        >>> len(run), run.scheme, run.end.reason
        (3, 'full', 'rounds_max')
        >>> run.evaluations["round"]
        array([0, 1, 2, 3])
        >>> {name: array.shape for name, array in run.model.items()}
        {'fc.bias': (10,), 'fc.weight': (10, 60)}
    """

    __slots__ = ("_cache", "_folder", "_kept", "_native")

    _native: _fedflip.RunData
    _folder: Path | None
    _cache: dict[str, Any]
    #: A temporary folder that the run is in, which is removed when nobody refers to it any more.
    _kept: Any

    def __init__(self, native: _fedflip.RunData, folder: Path | None, kept: Any = None) -> None:
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_folder", folder)
        object.__setattr__(self, "_cache", {})
        object.__setattr__(self, "_kept", kept)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a run is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a run is immutable: {name} stays")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._native.state(), self._folder))

    def __len__(self) -> int:
        return len(self._native)

    def __bool__(self) -> bool:
        return True

    @property
    def folder(self) -> Path | None:
        """The run folder; None for a run in memory."""
        return self._folder

    @property
    def rounds(self) -> Table:
        """One row for each round, as ``fedflip export`` has them, with a column for each metric. Round 0 is the first model."""
        return self._table("rounds")

    @property
    def participants(self) -> Table:
        """One row for each device in each round that it took part in, as ``fedflip export --table participants`` has them."""
        return self._table("participants")

    @property
    def evaluations(self) -> Table:
        """One row for each evaluation: the round, the time in seconds and the metrics. Round 0 is the first model."""
        return self._table("evaluations")

    def _table(self, name: str) -> Table:
        if name not in self._cache:
            self._cache[name] = Table._of(getattr(self._native, name)())
        table: Table = self._cache[name]
        return table

    def times(self, rounds: int | range | list[int] | None = None) -> Table:
        """The times of devices in rounds: one row for each device in each of the rounds.

        ``start_secs`` is the start of the round on the run's clock. From there on, a device downloads, is asked, computes
        (and waits for bandwidth) and uploads, each for its number of seconds. NaN is unknown.

        Args:
            rounds: A round, counted from 1, or several; by default all.
        """
        return Table._of(self._native.times(self._chosen_rounds(rounds)))

    def _chosen_rounds(self, rounds: Any) -> list[int]:
        """One round, several, or all."""
        if rounds is None:
            return list(range(1, len(self) + 1))
        remedy = f"name rounds from 1 to {len(self)}"
        several = [rounds] if hasattr(rounds, "__index__") and not isinstance(rounds, np.ndarray) else rounds
        chosen = listed("rounds", several, "a round or a list of rounds", remedy=remedy)
        return [count("rounds", number, least=1, most=len(self), remedy=remedy) for number in chosen]

    @property
    def model(self) -> Model:
        """The last model: read-only arrays by name. That of an interrupted run is from its last checkpoint.

        Raises:
            FedflipError: The folder holds no model, or a damaged one.
        """
        if "model" not in self._cache:
            self._cache["model"] = self._native.model()
        return dict(self._cache["model"])

    @property
    def best_model(self) -> Model | None:
        """The model with the best value of the target's metric; None if the run kept none, as runs in memory do."""
        if "best_model" not in self._cache:
            self._cache["best_model"] = self._native.best_model()
        best = self._cache["best_model"]
        return None if best is None else dict(best)

    def _parsed(self, name: str) -> dict[str, Any]:
        """A part of the records as a dict of the caller's own."""
        if name not in self._cache:
            self._cache[name] = getattr(self._native, name)
        parsed: dict[str, Any] = json.loads(self._cache[name])
        return parsed

    @property
    def header(self) -> dict[str, Any]:
        """The first line of the records: task, scheme, seed, metrics, target and predictions."""
        return self._parsed("header")

    @property
    def summary(self) -> dict[str, Any]:
        """The run in a few numbers: rounds, empty rounds, hours, mean participants, the last metrics."""
        return self._parsed("summary")

    @property
    def scenario_toml(self) -> str:
        """The text of ``run.toml``: every key that decides the run."""
        return self._native.run_toml

    @property
    def scenario(self) -> dict[str, Any]:
        """Every key that decides the run, by section."""
        import tomllib

        return tomllib.loads(self.scenario_toml)

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.header["task"])

    @property
    def scheme(self) -> str:
        """The scheme that chose q."""
        return str(self.header["scheme"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.header["seed"])

    @property
    def devices(self) -> int:
        """The number of devices."""
        return int(self.header["devices"])

    @property
    def fleet(self) -> Fleet:
        """The devices, with the numbers of samples that they hold."""
        return Fleet._of(self._native.fleet)

    @property
    def q(self) -> npt.NDArray[np.float64]:
        """The planned share of rounds in which each device takes part, as a read-only array. A replaced plan has the last q."""
        return self._native.q

    @property
    def ended(self) -> bool:
        """Whether the run has ended; one that was interrupted, or is in progress, has not."""
        return self._native.end is not None

    @property
    def end(self) -> End | None:
        """How the run ended; None if it was interrupted or is in progress."""
        return run_end(self._native.end, self.summary)

    def plot(self, metric: str | None = None, ax: Any = None) -> Any:
        """Draws a metric over time, by default the headline of the task, and returns the Axes."""
        from fedflip import plots

        return plots.accuracy(self, metric=metric, ax=ax)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        title: str | None = None,
        round: int | None = None,
        target: str | None = None,
    ) -> Path:
        """Writes a report of the run, as ``fedflip report`` does.

        Args:
            path: The file to write, such as ``report.html``, ``report.md``, ``report.txt`` or ``report.json``. Formats of
                several files need a folder and the format, or a pattern such as ``figures/*.pdf``.
            format: ``html``, ``md``, ``text``, ``json``, ``svg``, ``pdf``, ``png``, ``latex`` or ``csv``; by default the
                ending of the path decides.
            title: The title of the report.
            round: The round to show as a timeline.
            target: The target that times are to, such as ``"loss=0.5"``, instead of that of the run.

        Returns:
            The file, or the folder of the files.
        """
        if round is not None:
            remedy = f"name a round from 1 to {len(self)}"
            round = count("round", round, least=1, most=len(self), remedy=remedy)
        if self._folder is not None and (self._folder / "records.jsonl").is_file():
            return write_report([self._folder], path, format=format, title=title, round=round, target=target)
        import tempfile

        with tempfile.TemporaryDirectory(prefix="fedflip-") as above:
            folder = Path(above) / f"{self.scheme}-seed{self.seed}".replace(os.sep, "-")
            self._native.write_folder(folder)
            return write_report(
                [folder], path, format=format, title=title, round=round, target=target, above=above
            )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the last model as a safetensors file, which PyTorch and ``task.initial`` read.

        Examples:
            >>> run.save("model.safetensors")  # doctest: +SKIP
        """
        target = Path(path_text("path", path))
        if target.suffix != ".safetensors":
            raise InputError(
                f"{target}: the name of a model ends in .safetensors",
                where="path",
                value=str(target),
                remedy=f"write {target.with_suffix('.safetensors')}",
            )
        check_no_run_file(target)
        write_file(target, self._native.safetensors())
        return target

    def __repr__(self) -> str:
        return run_text(self)

    def _repr_html_(self) -> str:
        return run_html(self)


def open(folder: str | os.PathLike[str]) -> Run:
    """Opens a run folder: of a simulated or a deployed run, ended, interrupted or in progress.

    Args:
        folder: The folder that was ``out`` of a run.

    Raises:
        InputError: The folder holds no run; for a folder of several runs, ``remedy`` names them.
        FedflipError: The records are damaged, or were written by another version.

    Examples:
        >>> run = open("comparison/runs/auto-seed1")  # doctest: +SKIP
    """
    path = Path(path_text("folder", folder, remedy="give the folder of a run as str or Path"))
    return Run(_fedflip.RunData.from_folder(path), path)


def open_kept(folder: Path, kept: Any) -> Run:
    """Opens a run in a temporary folder, which lives as long as the run refers to it."""
    return Run(_fedflip.RunData.from_folder(folder), folder, kept)


def _restored(state: Any, folder: Path | None) -> Run:
    """Makes a run again in another process."""
    return Run(_fedflip.RunData.from_state(state), folder)
