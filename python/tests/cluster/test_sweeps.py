"""Sweeps whose crew is a cluster: the bytes of threads, with whole runs where that is possible."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest
from run_bytes import assert_same
from test_executor import Towards

Crews = Callable[[], ff.RayCrew | ff.ExecutorCrew]


@pytest.fixture(scope="module", params=["ray", "executor"])
def crew(request: pytest.FixtureRequest) -> Iterator[Crews]:
    """Makes crews of two workers."""
    if request.param == "executor":
        yield lambda: ff.ExecutorCrew(lambda: ThreadPoolExecutor(2), workers=2)
        return
    ray = pytest.importorskip("ray")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield lambda: ff.RayCrew(2)
    ray.shutdown()


SETTINGS: dict[str, Any] = {"schemes": ["full", "uniform"], "seeds": 2, "seed": 2, "pilots": False}
WORK: dict[str, tuple[Any, dict[str, Any]]] = {
    "native": (ff.Scenario("synthetic"), {"target_accuracy": 0.4}),
    "learner": (Towards(), {"stop": ff.Stop("loss", at=0.1), "rounds_max": 40}),
}


def assert_same_runs(found: Path, expected: Path, are_whole: bool) -> None:
    """All runs of two sweeps and their results are the same. A whole run has one worker."""
    runs = sorted(path.parent.relative_to(expected) for path in expected.rglob("run.toml"))
    assert len(runs) == 8
    for run in runs:
        assert_same(found / run, expected / run)
        if are_whole:
            [session] = json.loads((found / run / "host.json").read_text())["sessions"]
            assert session["workers"]["joined"] == 1, f"{run} is no whole run"
    assert (found / "sweep.json").read_bytes() == (expected / "sweep.json").read_bytes()


@pytest.mark.parametrize("kind", WORK)
def test_the_runs_at_each_point_are_whole_ones(tmp_path: Path, kind: str, crew: Crews) -> None:
    work, more = WORK[kind]
    arguments = {**SETTINGS, **more, "over": {"dropout": [0.0, 0.2]}, "progress": False}
    ff.sweep(work, out=tmp_path / "one", threads=1, **arguments)
    ff.sweep(work, out=tmp_path / "crew", crew=crew(), **arguments)
    assert_same_runs(tmp_path / "crew", tmp_path / "one", are_whole=True)


def test_a_sweep_over_the_clock_shares_devices(tmp_path: Path, crew: Crews) -> None:
    work, more = WORK["native"]
    arguments = {**SETTINGS, **more, "over": {"bandwidth_mbps": [20, 200]}, "progress": False}
    one = ff.sweep(work, out=tmp_path / "one", threads=1, **arguments)
    spread = ff.sweep(work, out=tmp_path / "crew", crew=crew(), **arguments)
    assert_same_runs(tmp_path / "crew", tmp_path / "one", are_whole=False)
    assert spread.retimed == one.retimed > 0


def test_the_command_line_sweeps_on_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "s.toml").write_text('seed = 2\n[task]\nname = "synthetic"\n[stop]\ntarget_accuracy = 0.4\n')
    words = [sys.executable, "-m", "fedflip", "sweep", "s.toml", "--quiet", "--over", "train.batch=8,16"]
    words += ["--schemes", "full,uniform", "--seeds", "2", "--no-pilot", "--out"]
    subprocess.run([*words, "one", "--threads", "1"], cwd=tmp_path, check=True)
    crew = ["--crew", "ray", "--workers", "2"]
    subprocess.run([*words, "ray", *crew], cwd=tmp_path, check=True, timeout=200)
    assert_same_runs(tmp_path / "ray", tmp_path / "one", are_whole=True)
