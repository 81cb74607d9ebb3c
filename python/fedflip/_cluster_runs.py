"""Whole runs on workers: a scenario goes there as text, and the folder of its run comes back as bytes."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

from fedflip import _fedflip
from fedflip._errors import FedflipError
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
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(out.rglob("*")):
                if path.is_file() and not path.name.endswith(".lock"):
                    archive.write(path, path.relative_to(out))
        return packed.getvalue()


def keep(packed: bytes, folder: str | os.PathLike[str]) -> None:
    """Puts the folder of a run where it belongs: all of it, or nothing if this process ends in between."""
    place = Path(folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".run-", dir=place.parent) as beside:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(Path(beside) / "run")
        try:
            (Path(beside) / "run").rename(place)
        except OSError as error:
            raise FedflipError(
                f"the run of a worker cannot be kept in {place}: {error.strerror}",
                remedy="let one process at a time write to the folder, then resume there",
            ) from error
