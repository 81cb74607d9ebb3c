"""Whole runs on workers: a scenario goes there as text, and the folder of its run comes back as bytes."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedflip import _fedflip
from fedflip._crew import InlineCrew
from fedflip._errors import FedflipError
from fedflip._native_learner import NativeLearner
from fedflip._observe import Watch

__all__ = ["keep", "whole_run"]

#: The names that scenarios of run folders have for the fleet and for the file about machines.
_FLEET, _HOST = "fleet.csv", "host.json"


class _Stoppable(Watch):
    """Ends a run that nobody waits for any more."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        super().__init__([], False)
        self.stop, self.is_stopped = stop, False

    def round(self, text: str) -> bool:
        self.is_stopped = self.stop()
        return self.is_stopped


def whole_run(work: Any, text: str, fleet: bytes | None, stop: Callable[[], bool]) -> bytes:
    """Does a run in a folder of its own, with one thread, and returns the folder.

    Args:
        work: What trains: a ``FlatLearner``, or a ``NativeLearner`` with the folder of data sets.
        text: The scenario.
        fleet: The fleet as CSV, if the scenario has one in a file.
        stop: Asked now and then whether the run is to end early.
    """
    with tempfile.TemporaryDirectory(prefix="fedflip-") as above:
        scenario, out = Path(above) / "s.toml", Path(above) / "run"
        scenario.write_text(text)
        if fleet is not None:
            (Path(above) / _FLEET).write_bytes(fleet)
        watch = _Stoppable(stop)
        try:
            if isinstance(work, NativeLearner):
                options = _fedflip.Options(watch, 1, work.data_dir, out)
                _fedflip.simulate(_fedflip.Scenario.resolve("", str(scenario), []), options)
            else:
                # The crew is not closed: the learner stays for other orders.
                crew = InlineCrew()
                crew.open(work)
                trainer = _fedflip.Trainer(work, crew, list(work.metrics.items()))
                resolved = _fedflip.Scenario.resolve("", str(scenario), [], trainer=trainer)
                _fedflip.simulate(resolved, _fedflip.Options(watch, 1, None, out), trainer)
        finally:
            watch.close()
        if watch.is_stopped:
            raise FedflipError("the run was stopped", remedy="resume the comparison")
        return _packed(out)


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith(".lock"):
                archive.write(path, path.relative_to(folder))
    return packed.getvalue()


def keep(packed: bytes, folder: str | os.PathLike[str], workers: dict[str, Any]) -> None:
    """Puts the folder of a run where it belongs: all of it, or nothing if this process ends in between.

    Args:
        packed: The folder, as ``whole_run`` returns it.
        folder: Its place.
        workers: What ``host.json`` says of the worker.
    """
    place = Path(folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".run-", dir=place.parent) as beside:
        made = Path(beside) / "run"
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(made)
        host = json.loads((made / _HOST).read_text())
        host["sessions"][-1]["workers"] = workers
        (made / _HOST).write_text(json.dumps(host, indent=2) + "\n")
        try:
            made.rename(place)
        except OSError as error:
            raise FedflipError(
                f"the run of a worker cannot be kept in {place}: {error.strerror}",
                remedy="let one process at a time write to the folder, then resume there",
            ) from error
