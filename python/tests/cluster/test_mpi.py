"""MPI: one and two ranks that train, a rank that is killed, and a run that resumes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import fedflip as ff
import pytest
from cluster_learners import Slow
from run_bytes import assert_same

pytest.importorskip("mpi4py")
MPIRUN = shutil.which(
    "mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)
pytestmark = pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun")

SCENARIO = 'seed = 3\n[task]\nname = "synthetic"\n[stop]\nrounds_max = 6\n[record]\ncheckpoint_secs = 0\n'


def mpirun(ranks: int, *words: str) -> list[str]:
    assert MPIRUN is not None
    return [MPIRUN, "--oversubscribe", "-n", str(ranks), sys.executable, *words]


def environment() -> dict[str, str]:
    # In a container, tests may have no other user.
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def script(folder: Path, traces: Path) -> Path:
    text = f"""
        import os
        import fedflip as ff
        from cluster_learners import Slow
        crew = ff.MpiCrew()
        learner = Slow({str(traces)!r}, secs=0.02)
        ff.simulate(learner, plan="full", rounds_max=6, seed=5, crew=crew, record={{"checkpoint_secs": 0}},
                    out={str(folder / "mpi")!r}, resume=True, progress=False)
        """
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    return path


def expected(folder: Path, traces: Path) -> Path:
    learner = Slow(str(traces), secs=0)
    ff.simulate(
        learner,
        plan="full",
        rounds_max=6,
        seed=5,
        record={"checkpoint_secs": 0},
        out=folder / "one",
        progress=False,
    )
    return folder / "one"


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_command_line_has_the_bytes_of_one_thread(tmp_path: Path, ranks: int) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = ["-m", "fedflip", "run", "s.toml", "--quiet", "--out"]
    subprocess.run([sys.executable, *words, "one", "--threads", "1"], cwd=tmp_path, check=True)
    done = subprocess.run(
        mpirun(ranks, *words, "mpi", "--crew", "mpi"),
        cwd=tmp_path,
        env=environment(),
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ended at its cap") == 1
    assert_same(tmp_path / "mpi", tmp_path / "one")


def test_a_learner_has_the_bytes_of_one_thread(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    subprocess.run(mpirun(3, str(script(tmp_path, traces))), env=environment(), check=True, timeout=120)
    assert_same(tmp_path / "mpi", expected(tmp_path, traces))


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_comparisons_and_sweeps_have_the_bytes_of_one_thread(tmp_path: Path, command: str) -> None:
    """Whole runs go to the ranks; a sweep over the clock alone shares devices."""
    (tmp_path / "s.toml").write_text(SCENARIO.replace("rounds_max = 6", "rounds_max = 40"))
    words = [
        "-m",
        "fedflip",
        command,
        "s.toml",
        "--quiet",
        "--schemes",
        "full,auto",
        "--seeds",
        "2",
        "--no-pilot",
    ]
    words += ["--set", "stop.target_accuracy=0.3"]
    if command == "sweep":
        words += ["--over", "train.batch=8,16"]
    subprocess.run([sys.executable, *words, "--out", "one", "--threads", "1"], cwd=tmp_path, check=True)
    done = subprocess.run(
        mpirun(3, *words, "--out", "mpi", "--crew", "mpi"),
        cwd=tmp_path,
        env=environment(),
        timeout=200,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    runs = sorted(path.parent.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("run.toml"))
    assert len(runs) == (8 if command == "sweep" else 4)
    for run in runs:
        assert_same(tmp_path / "mpi" / run, tmp_path / "one" / run)
        [session] = json.loads((tmp_path / "mpi" / run / "host.json").read_text())["sessions"]
        assert session["workers"] == {"crew": "MpiCrew", "joined": 1}, f"{run} is no whole run"
    result = f"{command}.json"
    assert (tmp_path / "mpi" / result).read_bytes() == (tmp_path / "one" / result).read_bytes()


def test_an_error_that_cannot_travel_ends_the_job_with_its_words(tmp_path: Path) -> None:
    text = f"""
        import fedflip as ff
        from cluster_learners import Odd
        crew = ff.MpiCrew()
        ff.simulate(Odd({str(tmp_path)!r}, "error"), plan="full", rounds_max=2, seed=5, crew=crew, progress=False)
        """
    (tmp_path / "script.py").write_text(textwrap.dedent(text))
    words = mpirun(3, str(tmp_path / "script.py"))
    done = subprocess.run(words, env=environment(), timeout=120, capture_output=True, text=True)
    assert done.returncode != 0 and "too odd to travel" in done.stderr


def test_a_rank_that_fails_ends_the_job(tmp_path: Path) -> None:
    """Without an abort, the ranks would wait for each other for ever."""
    text = """
        import fedflip as ff
        from fedflip import _mpi_ranks

        def broken(*_):
            raise OSError("no memory")

        _mpi_ranks.Serving.do = broken
        ff.simulate(ff.Scenario("synthetic"), plan="full", rounds_max=2, crew=ff.MpiCrew(), progress=False)
        """
    (tmp_path / "script.py").write_text(textwrap.dedent(text))
    words = mpirun(3, str(tmp_path / "script.py"))
    done = subprocess.run(words, env=environment(), timeout=120, capture_output=True, text=True)
    assert done.returncode != 0 and "no memory" in done.stderr


def test_a_killed_rank_ends_the_job_and_the_run_resumes(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    begin = mpirun(3, str(script(tmp_path, traces)))
    job = subprocess.Popen(begin, env=environment(), stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    # The third round: a process that trains is killed.
    while not (found := list(traces.glob("5-3-*"))):
        assert time.monotonic() < until and job.poll() is None
        time.sleep(0.01)
    os.kill(int(found[0].name.split("-")[3]), signal.SIGKILL)
    assert job.wait(60) != 0
    assert not (tmp_path / "mpi" / "model.safetensors").exists()
    subprocess.run(begin, env=environment(), check=True, timeout=120)
    assert_same(tmp_path / "mpi", expected(tmp_path, traces))


def test_a_late_answer_to_an_earlier_run_is_not_that_to_the_next(tmp_path: Path) -> None:
    text = """
        import os, time
        import numpy as np
        import fedflip as ff
        class Good:
            devices, metrics = 4, {"loss": "min"}
            def samples(self, device): return 10
            def initial(self, seed): return np.zeros(3, np.float32)
            def train(self, model, key): return np.ones(3, np.float32), 1.0
            def evaluate(self, model): return {"loss": float(model.sum())}
        class Bad(Good):
            def __getstate__(self): return {"any": 1}
            def __setstate__(self, state):
                time.sleep(0.5 * int(os.environ["OMPI_COMM_WORLD_RANK"]))
                raise RuntimeError("no data here")
        crew = ff.MpiCrew()
        for learner in (Bad(), Good()):
            try:
                run = ff.simulate(learner, crew=crew, plan="full", seed=1, rounds_max=3, progress=False)
                print(type(learner).__name__, len(run))
            except ff.FedflipError as error:
                print(type(learner).__name__, "no data here" in str(error))
        """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    done = subprocess.run(
        mpirun(4, str(path)), capture_output=True, text=True, timeout=100, env=environment()
    )
    assert done.stdout.split("\n")[:2] == ["Bad True", "Good 3"], done.stdout + done.stderr


def test_one_rank_alone_is_told_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    words = ["-m", "fedflip", "run", "s.toml", "--crew", "mpi"]
    done = subprocess.run(
        mpirun(1, *words), cwd=tmp_path, env=environment(), timeout=60, capture_output=True, text=True
    )
    assert done.returncode != 0 and "mpirun -n 3" in done.stderr
