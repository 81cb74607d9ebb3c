"""Whole runs on workers: a scenario goes there as text, and the folder of its run comes back as bytes."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from pathlib import Path

from fedflip import _fedflip
from fedflip._observe import Watch

__all__ = ["keep", "whole_run"]


def whole_run(text: str, data_dir: str | None) -> bytes:
    """Does a run in a folder of its own, with one thread, and returns the folder."""
    with tempfile.TemporaryDirectory(prefix="fedflip-") as above:
        scenario, out = Path(above) / "s.toml", Path(above) / "run"
        scenario.write_text(text)
        resolved = _fedflip.Scenario.resolve("", str(scenario), [])
        watch = Watch([], False)
        try:
            _fedflip.simulate(resolved, _fedflip.Options(watch, 1, data_dir, out))
        finally:
            watch.close()
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(out, arcname=".", filter=_without_lock)
        return packed.getvalue()


def _without_lock(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name.endswith(".lock") else member


def keep(packed: bytes, folder: str | os.PathLike[str]) -> None:
    """Puts the folder of a run where it belongs: all of it, or nothing if this process ends in between."""
    place = Path(folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".run-", dir=place.parent) as beside:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(Path(beside) / "run", filter="data")
        (Path(beside) / "run").rename(place)
