"""What a CoinStrategy keeps in its run folder, on the virtual clock or on that of the wall."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from flwr.serverapp import Grid

from fedflip._errors import FedflipError
from fedflip._plan import Plan
from fedflip._run import open as open_run
from fedflip.flower._grid import VirtualGrid
from fedflip.flower._records import Folder, RunRecords
from fedflip.flower._server import ServerModel

__all__ = ["Clock", "Journal"]

#: Files that belong to a checkpoint; those of the last two are kept. Other files in the folder are somebody else's.
_BESIDE = re.compile(r"(?:arrays-(\d+)\.npz|clients-(\d+)\.bin)")


class Clock:
    """The time of a run: virtual on a VirtualGrid, and otherwise that of the clock on the wall."""

    def __init__(self, grid: Grid) -> None:
        self.virtual = grid if isinstance(grid, VirtualGrid) else None
        self._offset_secs = -time.monotonic()
        self._start_secs = 0.0

    @property
    def now(self) -> float:
        """The seconds since the run began."""
        return self.virtual.now if self.virtual is not None else self._offset_secs + time.monotonic()

    def resume(self, round: int, secs: float) -> None:
        """Continues after a round of an earlier process."""
        self._offset_secs += secs
        if self.virtual is not None:
            self.virtual._rounds.resume(round, secs)

    def begin_round(self, round: int, plan: Plan) -> None:
        """The next push is this round."""
        self._start_secs = self.now
        if self.virtual is not None:
            self.virtual._rounds.announce(round, plan)

    def reasons(self, lost: dict[int, str]) -> dict[int, str]:
        """Why clients are lost; a virtual clock knows more than their replies say."""
        timed = self.virtual._rounds.last if self.virtual is not None else None
        return (
            lost
            if timed is None
            else {device: timed.lost.get(device, reason) for device, reason in lost.items()}
        )

    def record(
        self,
        round: int,
        cohort: list[int],
        took_secs: Mapping[int, float],
        lost: Mapping[int, str],
        loss: Any,
    ) -> dict[str, Any]:
        """The round that is over, as a line of records. On the wall's clock, the bandwidth of a client is not known."""
        if self.virtual is not None and self.virtual._rounds.last is not None:
            timed = self.virtual._rounds.last
            return timed.record(loss, [device for device in lost if device not in timed.lost])
        round_secs = self.now - self._start_secs
        return {
            "round": round,
            "start_secs": self._start_secs,
            "round_secs": round_secs,
            "cohort": cohort,
            "mbps": [0.0] * len(cohort),
            "compute_secs": [
                min(max(took_secs.get(device, round_secs), 0.0), round_secs) for device in cohort
            ],
            "upload_secs": [0.0] * len(cohort),
            "lost": [{"device": device, "reason": lost[device]} for device in sorted(lost)],
            "train_loss": loss,
        }


class Journal:
    """The run folder of a strategy.

    Args:
        out: The folder.
        plan: The plan.
        keys: The keys of the scenario.
        server: The model on the server.
        clock: The time of the run.
        checkpoint_secs: The least time between two checkpoints.
        metrics: The names of metrics that appear after the first round.
    """

    def __init__(
        self,
        out: str | os.PathLike[str],
        plan: Plan,
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
        self._folder = Folder(out, plan.fleet, keys, plan, is_real=virtual is None)
        self._server, self._clock = server, clock
        first = (server.layout, server.first)
        self.records = RunRecords(self._folder, first, server.vectors, checkpoint_secs, metrics)
        self._kept_rounds: list[int] = []

    def begin(self, resume: bool) -> int:
        """Opens a folder that holds the run already, and returns the number of its rounds."""
        if not resume or not self._folder.is_begun:
            self._folder.check_free()
            return 0
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
        return round

    def _ended(self, end: Mapping[str, Any]) -> int:
        """A run that had ended before: there is its result, and nothing else to do."""
        if end["reason"] == "diverged":
            raise FedflipError(
                f"{self._folder.out}: the run diverged after round {end['rounds']}",
                remedy="run again in another folder with a smaller learning rate",
            )
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
        self._kept_rounds = [*self._kept_rounds[-1:], round]
        for path in self._folder.out.iterdir():
            found = _BESIDE.fullmatch(path.name)
            if found and int(found[1] or found[2]) not in self._kept_rounds:
                path.unlink(missing_ok=True)

    def end(self, rounds: int, reason: str = "rounds_max", detail: str = "") -> None:
        """Ends the run."""
        self.records.flush()
        if self.records.is_open:
            self._checkpoint(rounds)
        model = self._server.layout.flat(self._server.result)
        self.records.end(rounds, self._clock.now, model, reason, detail)

    def close(self) -> None:
        """Leaves the folder to others. A round that is not over is not part of the run."""
        self.records.drop_round()
        self.records.close()
