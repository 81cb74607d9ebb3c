"""Run folders of Flower runs: one round is held back until its evaluation is known, and then written."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._fleet import Fleet
from fedflip._metrics import direction
from fedflip._plan import Plan
from fedflip.flower._flwr import flower_log
from fedflip.flower._model import Layout
from fedflip.flower._settings import native_scenario

__all__ = ["RECORDS", "Folder", "RunRecords"]

#: The file of records in a run folder.
RECORDS = "records.jsonl"

Vector = npt.NDArray[np.float32]
#: What the run trains, for people: reports and tables show it.
_TASK = "Flower app"
_FLUSH_SECS = 0.2
_WARNING = 30
_NAME_MAX = 200
#: The first line of records may be so long.
_LINE_MAX = 64 << 20


class Folder:
    """What a run folder is made of, before its first round is known.

    Args:
        out: The folder.
        fleet: The devices.
        keys: Keys of the scenario.
        plan: The plan; None for a strategy that fedflip knows nothing about.
        is_real: Whether times are wall-clock times.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        fleet: Fleet,
        keys: Mapping[str, Any],
        plan: Plan | None,
        is_real: bool,
    ) -> None:
        self.out = Path(os.fsdecode(out))
        self.fleet, self.keys, self.plan, self.is_real = fleet, dict(keys), plan, is_real

    @property
    def is_begun(self) -> bool:
        """Whether there is a run in the folder."""
        return (self.out / RECORDS).is_file() and (self.out / "run.toml").is_file()

    def check_free(self) -> None:
        """Refuses a folder that holds a run."""
        if self.is_begun:
            resumes = "continue it with CoinStrategy(…, resume=True), or choose another folder"
            alone = "choose another folder, or delete this one: only a run with CoinStrategy can be resumed"
            raise InputError(
                f"{self.out} holds a run already",
                where="out",
                value=str(self.out),
                remedy=alone if self.plan is None else resumes,
            )

    def prepare(self, model: tuple[Layout, Vector], first_cohort: int) -> None:
        """Refuses a folder that has no room for a run or cannot be written, and makes one that is missing."""
        self.check_free()
        scenario, plan = self._described(model, first_cohort)
        _fedflip.RunWriter.prepare(self.out, scenario, plan._native)
        try:
            with tempfile.TemporaryFile(dir=self.out):
                pass
        except OSError as error:
            raise InputError(
                f"{self.out} cannot be written: {error}",
                where="out",
                value=str(self.out),
                remedy="choose a folder that this process may write to",
            ) from error

    def writer(
        self, model: tuple[Layout, Vector], metrics: Sequence[str], first_cohort: int, resume: bool
    ) -> _fedflip.RunWriter:
        """Opens the folder for a run with this model, these metrics and this first cohort."""
        scenario, plan = self._described(model, first_cohort)
        named: list[tuple[str, str]] = [(name, direction(name)) for name in metrics]
        return _fedflip.RunWriter(self.out, scenario, plan._native, _TASK, named, self.is_real, resume)

    def _described(self, model: tuple[Layout, Vector], first_cohort: int) -> tuple[_fedflip.Scenario, Plan]:
        """The scenario and the plan that the folder shows."""
        if self.plan is not None:
            return native_scenario(self.fleet, self.keys, plan=self.plan, model=model), self.plan
        # As far as anybody knows, cohorts are drawn uniformly.
        q = np.full(len(self.fleet), max(1, first_cohort) / len(self.fleet))
        plan = Plan.from_q(self.fleet, np.minimum(q, self.fleet.availability))
        return native_scenario(self.fleet, {**self.keys, "plan.scheme": "custom=flower"}, model=model), plan


class RunRecords:
    """The records of one run in the making.

    Args:
        folder: Where they go.
        model: The first model as a vector.
        vectors: What a checkpoint before the first round holds; None for a run that cannot be resumed.
        checkpoint_secs: The least time between two checkpoints.
        metrics: The names of metrics that appear after the first round.
        files: The names and contents of files that the folder has from its beginning.
    """

    def __init__(
        self,
        folder: Folder,
        model: tuple[Layout, Vector],
        vectors: list[Vector] | None = None,
        checkpoint_secs: float = 10.0,
        metrics: Sequence[str] = (),
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self._folder, self._model, self._files = folder, model, files or {}
        self._first_vectors, self._checkpoint_secs = vectors, checkpoint_secs
        self._writer: _fedflip.RunWriter | None = None
        self._metrics = [_shown(name) for name in metrics]
        #: The evaluation of the first model, until it is written.
        self._initial: dict[str, float] = {}
        self._held: dict[str, Any] | None = None
        self._flushed = self._checkpointed = time.monotonic()
        self._unknown: set[str] = set()

    def prepare(self, first_cohort: int = 1) -> None:
        """Sees that the run can be kept, before anything is trained."""
        self._folder.prepare(self._model, first_cohort)

    def resumed(self) -> tuple[int, float, list[Vector]] | None:
        """Opens a folder that holds this run already: rounds, time and vectors of its checkpoint, if it has one."""
        with open(self._folder.out / RECORDS, "rb") as lines:
            first = lines.readline(_LINE_MAX)
        try:
            self._metrics = [metric["name"] for metric in json.loads(first)["metrics"]]
        except (ValueError, KeyError, TypeError):
            # The writer says what is wrong with the folder.
            self._metrics = []
        self._writer = self._folder.writer(self._model, self._metrics, 0, resume=True)
        return self._writer.after

    @property
    def is_open(self) -> bool:
        """Whether there is a run folder by now."""
        return self._writer is not None

    @property
    def ended(self) -> dict[str, Any] | None:
        """The last line of a run that had ended before."""
        if self._writer is None or self._writer.ended is None:
            return None
        line: dict[str, Any] = json.loads(self._writer.ended)
        return line

    def initial(self, metrics: Mapping[str, float]) -> None:
        """The evaluation of the first model."""
        self._initial = _all_shown(metrics)

    def round(self, record: dict[str, Any]) -> None:
        """A round is over; its evaluation may follow."""
        self.flush()
        self._held = {**record, "metrics": {}}

    def drop_round(self) -> None:
        """Forgets the round that was held back: its step is not part of the model."""
        self._held = None

    def evaluated(self, metrics: Mapping[str, float]) -> None:
        """An evaluation of the model after the last round."""
        if self._held is not None:
            self._held["metrics"].update(_all_shown(metrics))

    def flush(self) -> None:
        """Writes the round that was held back."""
        if self._held is None:
            return
        record, self._held = self._held, None
        writer = self._opened(record["metrics"], len(record["cohort"]))
        record["metrics"] = self._declared(record["metrics"])
        writer.append(json.dumps(record))
        now = time.monotonic()
        if now - self._flushed >= _FLUSH_SECS:
            self._flushed = now
            writer.flush()

    def _opened(self, metrics: Iterable[str], first_cohort: int) -> _fedflip.RunWriter:
        """The open folder. It opens with the first round, whose metrics its first line names."""
        if self._writer is None:
            self._metrics = list(dict.fromkeys([*self._initial, *metrics, *self._metrics]))
            self._writer = self._folder.writer(self._model, self._metrics, first_cohort, resume=False)
            for name, content in self._files.items():
                self._writer.write(name, content)
            if self._first_vectors is not None:
                self._writer.checkpoint(0.0, self._first_vectors)
        if self._initial:
            first, self._initial = self._declared(self._initial), {}
            self._writer.append_initial(json.dumps({"secs": 0.0, "metrics": first}))
        return self._writer

    def _declared(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """The metrics that the header has: it is written once, with those of the first evaluations."""
        unknown = set(metrics) - set(self._metrics) - self._unknown
        if unknown:
            self._unknown |= unknown
            named = ", ".join(sorted(unknown))
            flower_log(
                _WARNING,
                "fedflip: %s came after the first round, and the records leave it out; name it in metrics=",
                named,
            )
        return {name: value for name, value in metrics.items() if name in self._metrics}

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        due = time.monotonic() - self._checkpointed >= self._checkpoint_secs
        return due and self._first_vectors is not None and self._writer is not None

    def checkpoint(self, secs: float, vectors: list[Vector], files: Mapping[str, bytes]) -> None:
        """Writes files, and then a checkpoint after the last round."""
        assert self._writer is not None
        for name, content in files.items():
            self._writer.write(name, content)
        self._writer.checkpoint(secs, vectors)
        self._checkpointed = time.monotonic()

    def end(
        self, rounds: int, secs: float, model: Vector, reason: str = "rounds_max", detail: str = ""
    ) -> None:
        """Writes the last line of the records, and the model."""
        self.flush()
        # A run that diverged in its first round has no round, and its end is worth knowing.
        writer = self._opened((), 0)
        line = {"reason": reason, "rounds": rounds, "secs": secs}
        writer.end(json.dumps({**line, "detail": detail} if detail else line), model)

    def close(self) -> None:
        """Keeps what there is of a run that has not ended."""
        self.flush()
        if self._writer is not None:
            self._writer.close()


def _shown(name: str) -> str:
    """A name without what a terminal would obey, and of a length that a table can show."""
    return "".join(letter if letter.isprintable() else "?" for letter in name[:_NAME_MAX])


def _all_shown(metrics: Mapping[str, float]) -> dict[str, float]:
    return {_shown(name): value for name, value in metrics.items()}
