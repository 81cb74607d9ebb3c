"""What a VirtualGrid itself records: its rounds, and the models that a server app sends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from logging import WARNING
from typing import Any

from flwr.app import ArrayRecord

from fedflip._fleet import Fleet
from fedflip._plan import Plan
from fedflip.flower._clients import Wave
from fedflip.flower._flwr import flower_log
from fedflip.flower._model import Arrays, Layout, numbers_of
from fedflip.flower._records import Folder, RunRecords

__all__ = ["GridRecords"]


class GridRecords:
    """The run folder of a grid. It begins with the first model that a server app sends.

    Args:
        out: The folder; None keeps nothing.
        fleet: The devices.
        keys: The keys of the scenario.
        metrics: The names of metrics that appear after the first round.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None,
        fleet: Fleet,
        keys: Mapping[str, Any],
        metrics: Sequence[str],
    ) -> None:
        self._folder = None if out is None else Folder(out, fleet, keys, None, is_real=False)
        self._metrics = metrics
        self._records: RunRecords | None = None
        self._layout = Layout({})
        self._last_model: Arrays = {}
        #: Rounds before the first model: nobody took part in them.
        self._early: list[dict[str, Any]] = []
        self._rounds = 0
        self._has_warned = False

    @property
    def is_kept(self) -> bool:
        """Whether there is a folder."""
        return self._folder is not None

    def plan(self, plan: Plan) -> None:
        """The strategy has a plan. Of other strategies, the records know only the cohorts."""
        if self._folder is not None:
            self._folder.plan = plan

    def see_model(self, wave: Wave) -> None:
        """Remembers the model that the server sends."""
        if self._folder is None or not wave:
            return
        record = next(iter(wave[0][1].content.array_records.values()), ArrayRecord())
        arrays = numbers_of(record)
        if self._records is None:
            self._layout = Layout(arrays)
            model = (self._layout, self._layout.flat(arrays))
            records = RunRecords(self._folder, model, metrics=self._metrics)
            records.prepare(len(self._early[0]["cohort"]) if self._early else len(wave))
            self._records = records
            for early in self._early:
                self._records.round(early)
        if Layout(arrays).tensors == self._layout.tensors:
            self._last_model = arrays
        elif not self._has_warned:
            self._has_warned = True
            problem = "fedflip: the shapes of the model change: the run folder keeps the last model of the first shapes"
            flower_log(WARNING, problem)

    def begin_round(self) -> None:
        """The round before has got all its evaluations."""
        if self._records is not None:
            self._records.flush()

    def round(self, record: dict[str, Any]) -> None:
        """A round is over; its evaluation may follow."""
        self._rounds += 1
        # A strategy counts its own rounds: it begins at 1 after other rounds, or later than that when it resumes.
        numbered = {**record, "round": self._rounds}
        if self._records is not None:
            self._records.round(numbered)
        elif self._folder is not None:
            self._early.append(numbered)

    def evaluated(self, metrics: Mapping[str, float]) -> None:
        """An evaluation of the model after the last round, or of the first model."""
        if self._records is None:
            return
        if self._rounds == 0:
            self._records.initial(metrics)
        else:
            self._records.evaluated(metrics)

    def end(self, secs: float) -> None:
        """Writes the last line of the records, and the model."""
        if self._records is not None:
            self._records.end(self._rounds, secs, self._layout.flat(self._last_model))
            self._records = None
        elif self._folder is not None:
            flower_log(WARNING, "fedflip: no model was sent, so there is no run folder")

    def close(self) -> None:
        """Keeps what there is of a run that has not ended."""
        if self._records is not None:
            self._records.close()
            self._records = None
