"""Comparisons and sweeps in several parts: together they have the bytes of one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest

PARTS = 3
COMPARE = [
    "compare",
    *("--schemes", "auto,paper,full,uniform", "--seeds", "2", "--quiet"),
    *("--set", "stop.target_accuracy=0.4", "--set", "pilot.loss=2.2"),
]
SWEEP = [
    "sweep",
    *(
        "--over",
        "fleet.bandwidth_mbps=20,100",
        "--schemes",
        "auto,full",
        "--seeds",
        "2",
        "--quiet",
        "--no-pilot",
    ),
    *("--set", "stop.target_accuracy=0.4"),
]


def kept(folder: Path) -> dict[str, bytes]:
    """Every file of every run and pilot, but those of the machine. Runs that a sweep retimes have no checkpoints."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("host.json", ".lock")
    ]
    named = {path.relative_to(folder).as_posix(): path for path in files}
    hidden = (".shard", "checkpoint/")
    return {
        name: path.read_bytes() for name, path in named.items() if not any(part in name for part in hidden)
    }


def fedflip(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fedflip", *words], cwd=folder, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [COMPARE, SWEEP], ids=["compare", "sweep"])
def test_shards_together_have_the_bytes_of_one_call(tmp_path: Path, words: list[str]) -> None:
    whole = fedflip(tmp_path, *words, "--out", "whole")
    for index in range(PARTS):
        fedflip(tmp_path, *words, "--out", f"apart-{index}", "--shard", f"{index}/{PARTS}")
    expected = kept(tmp_path / "whole")
    parts = [kept(tmp_path / f"apart-{index}") for index in range(PARTS)]
    # Every run is in one shard, with the same bytes.
    results = ("compare.json", "sweep.json")
    runs = {name for name in expected if not name.endswith(results)}
    assert sorted(name for part in parts for name in part) == sorted(runs)
    assert all(content == expected[name] for part in parts for name, content in part.items())
    assert all(any(name.endswith("records.jsonl") for name in part) for part in parts)
    # In one folder, in any order: the comparison of all is the same as that of one call.
    for index in reversed(range(PARTS)):
        fedflip(tmp_path, *words, "--out", "together", "--shard", f"{index}/{PARTS}")
    assert not list((tmp_path / "together").rglob("compare.json"))
    assert (
        fedflip(tmp_path, *words, "--out", "together", "--resume").splitlines()[:8] == whole.splitlines()[:8]
    )
    assert kept(tmp_path / "together") == expected
    # The report counts every run once.
    apart = [f"apart-{index}" for index in range(PARTS)]
    assert tables(tmp_path, ["whole"]) == tables(tmp_path, apart)


def tables(folder: Path, named: list[str]) -> dict[str, str]:
    """The tables of a report, without the names of folders."""
    out = folder / f"report-{len(named)}"
    fedflip(folder, "report", *named, "--format", "csv", "--out", str(out))
    found = {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()}
    return {name: re.sub(r"whole|apart-\d", "FOLDER", text) for name, text in found.items()}


def test_a_shard_that_is_interrupted_resumes(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"schemes": ["auto", "full"], "seeds": 2, "pilots": False, "progress": False}
    scenario = ff.Scenario("synthetic", target_accuracy=0.4, seed=3)
    with pytest.raises(ff.FedflipError, match="a callback ended"):
        ff.compare(
            scenario,
            shard=(1, 2),
            out=tmp_path / "part",
            callbacks=[lambda record: record.round == 5],
            **settings,
        )
    done = ff.compare(scenario, shard=(1, 2), out=tmp_path / "part", resume=True, **settings)
    # Both runs of the reference, and one of the other scheme; the runs of the other shard have not failed.
    assert [(row["scheme"], row["reached"], row["seeds"]) for row in done.rows] == [
        ("auto", 2, 2),
        ("full", 1, 1),
    ]
    ff.compare(scenario, out=tmp_path / "whole", **settings)
    part, whole = kept(tmp_path / "part"), kept(tmp_path / "whole")
    assert part and all(content == whole[name] for name, content in part.items())


def test_shards_of_a_sweep_in_python_are_those_of_the_command_line(tmp_path: Path) -> None:
    fedflip(tmp_path, *SWEEP, "--out", "cli", "--shard", "1/3")
    ff.sweep(
        ff.Scenario("synthetic", target_accuracy=0.4),
        over={"bandwidth_mbps": [20, 100]},
        schemes=["auto", "full"],
        seeds=2,
        pilots=False,
        reference="auto",
        shard=(1, 3),
        out=tmp_path / "python",
        progress=False,
    )
    names = [
        sorted(
            path.parent.name for path in (tmp_path / name).rglob("records.jsonl") if ".shard" not in str(path)
        )
        for name in ("cli", "python")
    ]
    assert names[0] == names[1] and names[0]


@pytest.mark.parametrize("pilots", [True, False], ids=["pilots", "reference"])
def test_runs_of_another_scenario_that_another_shard_has_left_are_refused(
    tmp_path: Path, pilots: bool
) -> None:
    """Otherwise α, β or the limit of hopeless runs would be those of another scenario."""
    settings: dict[str, Any] = {"schemes": ["paper", "full"], "seeds": 2, "pilots": pilots, "progress": False}
    common: dict[str, Any] = {"target_accuracy": 0.4, "pilot": {"loss": 2.2}}
    scenarios = [ff.Scenario("synthetic", train={"batch": batch}, **common) for batch in (8, 16)]
    ff.compare(scenarios[0], shard=(0, 2), out=tmp_path / "out", **settings)
    with pytest.raises(ff.FedflipError, match=r"holds a run of another scenario: .*batch"):
        ff.compare(scenarios[1], shard=(1, 2), out=tmp_path / "out", **settings)


@pytest.mark.parametrize("shard", [(3, 3), (-1, 3), (0, 0), (1,), "ab", 5])
def test_shards_that_do_not_exist_are_refused(tmp_path: Path, shard: Any) -> None:
    with pytest.raises(ff.InputError) as caught:
        ff.compare(
            ff.Scenario("synthetic"), schemes=["full"], shard=shard, out=tmp_path / "out", progress=False
        )
    assert caught.value.where == "shard"


def test_a_shard_needs_a_folder() -> None:
    with pytest.raises(ff.InputError, match="without out"):
        ff.compare(ff.Scenario("synthetic"), schemes=["full"], shard=(0, 2), progress=False)
