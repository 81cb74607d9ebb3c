"""Run folders of the command line, and their files read by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np

SCENARIO = """
seed = 3
[task]
name = "synthetic"
[fleet]
devices = 20
[stop]
rounds_max = 40
at = 0.999
"""
# Empty rounds and a target; losses, rounds without an evaluation, and a last model that only the end evaluates; quiet
# rounds; downloads and overhead; no coins; a scheme that asks devices; no rounds at all.
RUNS = {
    "auto": ["--set", "stop.at=0.2"],
    "lossy": ["--scheme", "fixed=0.3", "--set", "world.dropout=0.2", "--set", "record.evaluate_every=7"],
    "quiet": ["--set", "plan.quiet_variance=0.2", "--set", "plan.quiet_every=4"],
    "download": ["--scheme", "full", "--set", "round.downlink=broadcast", "--set", "round.overhead_secs=0.5"],
    "fedavg": ["--scheme", "fedavg=5"],
    "asked": ["--scheme", "power-of-choice=3"],
    "buffered": ["--scheme", "fedbuff=4"],
}


def make_runs(command: Callable[..., str], folder: Path, names: Iterable[str] = RUNS) -> Path:
    """Makes a run folder for each of some RUNS."""
    (folder / "s.toml").write_text(SCENARIO)
    for name in names:
        command("run", "s.toml", "--quiet", "--out", name, *RUNS[name], cwd=folder)
    return folder


def json_lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return [line for line in lines if line["type"] == kind]


def tensors_by_hand(path: Path) -> dict[str, Any]:
    """The tensors of a safetensors file, by its specification."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    tensors, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    tensors.pop("__metadata__", None)
    return {
        name: np.frombuffer(data[slice(*tensor["data_offsets"])], "<f4").reshape(tensor["shape"])
        for name, tensor in tensors.items()
    }


def assert_same_tensors(found: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    assert found is not None and list(found) == sorted(expected)
    for name, array in expected.items():
        assert found[name].shape == array.shape and found[name].dtype == np.float32
        assert np.array_equal(found[name], array), name


def assert_same_tables(found: ff.Table, expected: ff.Table) -> None:
    assert found.columns == expected.columns
    for column in found:
        np.testing.assert_array_equal(found[column], expected[column])


def resident_bytes() -> int:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
