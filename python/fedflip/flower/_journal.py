"""What a CoinStrategy keeps in its run folder, on the virtual clock or on the wall clock."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from logging import DEBUG, INFO
from pathlib import Path
from typing import Any

from fedflip._errors import FedflipError, InputError
from fedflip._run import open as open_run
from fedflip.flower._clock import Clock
from fedflip.flower._flwr import flower_log
from fedflip.flower._records import RECORDS, Folder, RunRecords
from fedflip.flower._round_sum import NOT_FINITE, REFUSED, Refusals
from fedflip.flower._server import ServerModel

__all__ = ["Journal", "rounds_of_ended"]

#: Files that belong to a checkpoint; those of the last two are kept. Other files in the folder are somebody else's.
_BESIDE = re.compile(r"(?:arrays-(\d+)\.npz|clients-(\d+)\.bin)")
#: The settings of the clock that are no keys of a scenario.
_SETTINGS = "clock.json"


class Journal:
    """The run folder of a strategy.

    Args:
        out: The folder.
        keys: The keys of the scenario.
        server: The model on the server.
        clock: The time of the run.
        checkpoint_secs: The least time between two checkpoints.
        metrics: The names of metrics that appear after the first round.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        keys: Mapping[str, Any],
        server: ServerModel,
        clock: Clock,
        checkpoint_secs: float,
        metrics: Sequence[str],
    ) -> None:
        virtual = clock.virtual
        if virtual is not None:
            # The folder shows the clock that the rounds were on.
            keys = {**virtual._keys, **keys}
        self._folder = Folder(out, clock.plan.fleet, keys, clock.plan, is_real=virtual is None)
        self._server, self._clock = server, clock
        first = (server.layout, server.first)
        settings = {_SETTINGS: json.dumps(clock.settings).encode()}
        self.records = RunRecords(self._folder, first, server.vectors, checkpoint_secs, metrics, settings)
        self._kept_rounds: list[int] = []
        #: The level at which the next checkpoint is logged: the first one and that of the end are news, the others are many.
        self._log_level = INFO
        #: Whether the run had ended before it was opened.
        self.had_ended = False

    def begin(self, resume: bool, refusals: Refusals) -> int:
        """Opens a folder that holds the run already, and returns the number of its rounds, which ``refusals`` sees again."""
        if not resume or not self._folder.is_begun:
            self.records.prepare()
            return 0
        self._check_settings()
        after = self.records.resumed()
        if self.records.ended is not None:
            return self._ended(self.records.ended)
        if after is None:
            return 0
        round, secs, vectors = after
        self._server.restore(self._folder.out, round, vectors)
        self._clock.resume(round, secs)
        self._kept_rounds = [round]
        self._restore_clients(round)
        self._see_again(round, refusals)
        return round

    def _see_again(self, rounds: int, refusals: Refusals) -> None:
        """What replies there were decides what failures mean: those of an app that has never worked end a run."""
        with open(self._folder.out / RECORDS, "rb") as lines:
            for record in map(json.loads, lines):
                if record.get("type") == "round" and record["round"] <= rounds:
                    refusals.resume(record)
                    lost = [
                        each for each in record.get("lost", ()) if each["reason"] not in (REFUSED, NOT_FINITE)
                    ]
                    if self._clock.virtual is not None and len(record["cohort"]) > len(lost):
                        self._clock.virtual._clients.has_trained = True

    def _check_settings(self) -> None:
        """Refuses to resume a run on another clock. Folders of earlier versions do not tell theirs."""
        path = self._folder.out / _SETTINGS
        if not path.is_file():
            return
        try:
            before: Mapping[str, Any] = dict(json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise FedflipError(
                f"{path} cannot be read: {error}", remedy="restore the folder from a copy"
            ) from error
        for name, value in self._clock.settings.items():
            if name in before and before[name] != value:
                raise InputError(
                    f"{self._folder.out}: the run has {name} = {before[name]!r}, and the grid has {value!r}",
                    where=name,
                    value=value,
                    remedy="resume on a grid with the same settings, or choose another folder",
                )

    def _ended(self, end: Mapping[str, Any]) -> int:
        """A run that had ended before: there is its result, and nothing else to do."""
        if end["reason"] == "diverged":
            raise FedflipError(
                f"{self._folder.out}: the run diverged after round {end['rounds']}",
                remedy="run again in another folder with a smaller learning rate",
            )
        self.had_ended = True
        run = open_run(self._folder.out)
        self._server.finish(self._folder.out, int(end["rounds"]), run.model)
        self._clock.resume(int(end["rounds"]), float(end["secs"]))
        return int(end["rounds"])

    def _restore_clients(self, round: int) -> None:
        path = self._folder.out / f"clients-{round}.bin"
        if self._clock.virtual is None or not path.is_file():
            return
        try:
            self._clock.virtual._clients.restore(path.read_bytes())
        except Exception as error:
            raise FedflipError(
                f"{path} cannot be read: {error}", remedy="restore the folder from a copy"
            ) from error

    def round_over(self, round: int) -> None:
        """Writes a round with its evaluation, and a checkpoint if it is time for one."""
        self.records.flush()
        if self.records.is_checkpoint_due:
            self._checkpoint(round)

    def _checkpoint(self, round: int) -> None:
        files = self._server.files(round)
        if self._clock.virtual is not None:
            states = self._clock.virtual._clients.state_bytes()
            files |= {f"clients-{round}.bin": states} if states else {}
        self.records.checkpoint(self._clock.now, self._server.vectors, files)
        flower_log(
            self._log_level, "fedflip: wrote a checkpoint after round %d to %s", round, self._folder.out
        )
        self._log_level = DEBUG
        self._kept_rounds = [*self._kept_rounds[-1:], round]
        for path in self._folder.out.iterdir():
            found = _BESIDE.fullmatch(path.name)
            if found and int(found[1] or found[2]) not in self._kept_rounds:
                path.unlink(missing_ok=True)

    def end(self, rounds: int, reason: str = "rounds_max", detail: str = "") -> None:
        """Ends the run with a last checkpoint, the model and the reason."""
        self.records.flush()
        if self.records.is_open:
            self._log_level = INFO
            self._checkpoint(rounds)
        model = self._server.layout.flat(self._server.result)
        self.records.end(rounds, self._clock.now, model, reason, detail)

    def close(self) -> None:
        """Leaves the folder to others. A round that is not over is not part of the run."""
        self.records.drop_round()
        self.records.close()


def rounds_of_ended(out: str | os.PathLike[str]) -> int:
    """The cap on rounds of a run that has ended, and 0 for others: with a smaller cap it has ended, too."""
    folder = Path(os.fsdecode(out))
    if not (folder / RECORDS).is_file() or not (folder / "run.toml").is_file():
        return 0
    run = open_run(folder)
    return int(run.scenario["stop"]["rounds_max"]) if run.ended else 0
