"""Ray: the bytes of one thread, whatever happens to actors, raylets and the driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest
from cluster_learners import Different, Failing, Sharing, Slow
from run_bytes import assert_same

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

#: Rounds of about a second with two workers.
NATIVE: dict[str, Any] = {
    "rounds_max": 3,
    "seed": 3,
    "scheme": "full",
    "devices": 30,
    "train": {"iterations": 3000},
}


class Raylets:
    """A cluster of three raylets on this machine; one of them has the driver."""

    def __init__(self) -> None:
        self.cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(2)]
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, log_to_driver=False)

    def remove_one(self) -> None:
        """Kills a raylet with its workers, as when a machine loses power."""
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture
def raylets() -> Iterator[Raylets]:
    made = Raylets()
    yield made
    made.close()


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    # Ray only counts GPUs: none has to be there.
    ray.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def removed_in_mid_round(raylets: Raylets, folder: Path, trainings: int) -> threading.Thread:
    """Removes a raylet once so many trainings have been traced in a folder."""

    def wait() -> None:
        while len([path for path in folder.iterdir() if not path.name.startswith("0-")]) < trainings:
            time.sleep(0.005)
        raylets.remove_one()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def lose_a_raylet(tmp_path: Path, repetition: int) -> None:
    """A run of a learner and of a native task; a raylet is removed in the middle of a round of each."""
    traces = tmp_path / f"traces-{repetition}"
    traces.mkdir()
    learner = Slow(str(traces))
    out = tmp_path / f"lost-{repetition}"
    raylets = Raylets()
    try:
        # Twelve trainings a round: this is in the middle of the second, at another place each time.
        thread = removed_in_mid_round(raylets, traces, 14 + repetition % 8)
        run = ff.simulate(
            learner, plan="full", rounds_max=4, seed=5, crew=ff.RayCrew(3), out=out, progress=False
        )
        thread.join()
        assert len(run) == 4
        assert_same(out, tmp_path / "expected")
        done = [path.name.rsplit("-", 2)[0] for path in traces.iterdir() if not path.name.startswith("0-")]
        # Lost with the raylet: what the worker had begun, and updates that nobody had fetched yet.
        assert 48 <= len(done) <= 48 + 8, len(done)
    finally:
        raylets.close()


@pytest.fixture
def expected(tmp_path: Path) -> Path:
    """The run of the learner without a cluster."""
    traces = tmp_path / "traces"
    traces.mkdir()
    learner = Slow(str(traces), secs=0.0)
    ff.simulate(
        learner, plan="full", rounds_max=4, seed=5, threads=1, out=tmp_path / "expected", progress=False
    )
    return tmp_path / "expected"


@pytest.mark.parametrize("repetition", range(2))
def test_a_raylet_lost_in_mid_round_costs_no_byte(tmp_path: Path, expected: Path, repetition: int) -> None:
    lose_a_raylet(tmp_path, repetition)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(10))
def test_a_raylet_lost_in_mid_round_ten_times(tmp_path: Path, expected: Path, repetition: int) -> None:
    lose_a_raylet(tmp_path, repetition)


def test_a_native_task_that_loses_a_raylet_has_the_bytes_of_one_thread(
    tmp_path: Path, raylets: Raylets
) -> None:
    scenario = ff.Scenario("synthetic", **NATIVE)
    ff.simulate(scenario, threads=1, out=tmp_path / "one", progress=False)
    threads: list[threading.Thread] = []

    def after_first_round(record: Any) -> None:
        if not threads:
            # In the middle of the second round.
            threads.append(threading.Timer(0.3, raylets.remove_one))
            threads[0].start()

    crew = ff.RayCrew(3)
    ff.simulate(scenario, crew=crew, out=tmp_path / "ray", callbacks=[after_first_round], progress=False)
    threads[0].join()
    assert_same(tmp_path / "ray", tmp_path / "one")
    [session] = json.loads((tmp_path / "ray" / "host.json").read_text())["sessions"]
    assert session["workers"] == {"crew": "RayCrew", "joined": 3}


def test_an_actor_that_dies_starts_again(tmp_path: Path, local: None) -> None:
    (tmp_path / "traces").mkdir()
    expected = ff.simulate(
        Slow(str(tmp_path / "traces"), secs=0), plan="full", rounds_max=3, seed=7, progress=False
    )
    (tmp_path / "killed").mkdir()
    learner = Slow(str(tmp_path / "killed"), secs=0.01, kill=4)
    crew = ff.RayCrew(2)
    run = ff.simulate(learner, plan="full", rounds_max=3, seed=7, crew=crew, progress=False)
    assert [tensor.tobytes() for tensor in run.model.values()] == [
        tensor.tobytes() for tensor in expected.model.values()
    ]
    # Three workers died, one a round, and came back as other processes: the last one perhaps too late.
    assert 2 + 2 <= len(crew.workers_joined) <= 2 + 3


def test_workers_share_a_gpu(tmp_path: Path, local: None) -> None:
    # There are processors for eight actors, and half a GPU for two.
    crew = ff.RayCrew(num_cpus=0.25, num_gpus=0.5)
    learner = Sharing(str(tmp_path), secs=0)
    run = ff.simulate(learner, plan="full", rounds_max=2, crew=crew, progress=False)
    assert len(crew.workers_joined) == 2
    assert run.rounds["train_loss"][1:].tolist() == [0.5, 0.5]


def test_errors_of_a_learner_name_device_and_round(tmp_path: Path, local: None) -> None:
    with pytest.raises(ff.LearnerError, match="out of cheese") as caught:
        ff.simulate(
            Failing(str(tmp_path), secs=0), plan="full", rounds_max=3, crew=ff.RayCrew(2), progress=False
        )
    assert (caught.value.device, caught.value.round) == (3, 2)
    assert "cluster_learners.py" in str(caught.value)


@pytest.mark.parametrize("what", ["update", "data"])
def test_a_worker_that_differs_is_refused_by_name(tmp_path: Path, local: None, what: str) -> None:
    learner = Different(str(tmp_path), what)
    with pytest.raises(ff.FedflipError, match=rf"worker \S+:\d+ differs from \S+:\d+: its {what}") as caught:
        ff.simulate(learner, plan="full", rounds_max=1, crew=ff.RayCrew(2), progress=False)
    assert "mixed=True" in caught.value.remedy


def test_a_worker_that_differs_is_recorded_when_mixed(tmp_path: Path, local: None) -> None:
    (tmp_path / "traces").mkdir()
    learner = Different(str(tmp_path / "traces"), "data")
    crew = ff.RayCrew(2, mixed=True)
    ff.simulate(learner, plan="full", rounds_max=2, crew=crew, out=tmp_path / "run", progress=False)
    [session] = json.loads((tmp_path / "run" / "host.json").read_text())["sessions"]
    [sentence] = session["workers"]["mixed"]
    assert "its data have the digest" in sentence
    report = ff.open(tmp_path / "run").report(tmp_path / "report.txt")
    assert "admitted although they differ" in report.read_text()


def test_a_driver_that_is_killed_resumes(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    script = textwrap.dedent(
        f"""
        import fedflip as ff
        from cluster_learners import Slow
        if __name__ == "__main__":
            learner = Slow({str(tmp_path / "traces")!r}, secs=0.02)
            ff.simulate(learner, plan="full", rounds_max=8, seed=5, crew=ff.RayCrew(2), record={{"checkpoint_secs": 0}},
                        out={str(tmp_path / "run")!r}, resume=True, progress=False)
        """
    )
    (tmp_path / "script.py").write_text(script)
    begin = [sys.executable, str(tmp_path / "script.py")]
    driver = subprocess.Popen(begin, start_new_session=True)
    records = tmp_path / "run" / "records.jsonl"
    until = time.monotonic() + 120
    while not (records.exists() and records.read_text().count("\n") >= 4):
        assert time.monotonic() < until and driver.poll() is None
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    subprocess.run(begin, check=True, timeout=200)
    learner = Slow(str(tmp_path / "traces"), secs=0)
    settings = {"plan": "full", "rounds_max": 8, "seed": 5, "record": {"checkpoint_secs": 0}}
    ff.simulate(learner, out=tmp_path / "expected", progress=False, **settings)
    assert_same(tmp_path / "run", tmp_path / "expected")


def test_comparisons_and_pilots_take_a_crew(tmp_path: Path, local: None) -> None:
    settings: dict[str, Any] = {"target_accuracy": 0.4, "seed": 2, "pilot": {"loss": 2.2}, "progress": False}
    found = {}
    for name, crew in (("one", {"threads": 1}), ("ray", {"crew": ff.RayCrew(2)})):
        found[name] = ff.compare(
            ff.Scenario("synthetic"),
            schemes=["auto", "paper"],
            seeds=1,
            out=tmp_path / name,
            **crew,
            **settings,
        )
    assert found["one"].result == found["ray"].result
    for run in sorted((tmp_path / "one" / "runs").iterdir()):
        assert_same(tmp_path / "ray" / "runs" / run.name, run)


def test_comparisons_spread_whole_runs_first_and_cohorts_second(tmp_path: Path, local: None) -> None:
    settings: dict[str, Any] = {"target_accuracy": 0.4, "seed": 2, "pilots": False, "progress": False}
    scenario, schemes = ff.Scenario("synthetic"), ["full", "auto", "uniform"]
    ff.compare(scenario, schemes=schemes, seeds=3, threads=1, out=tmp_path / "one", **settings)
    ff.compare(scenario, schemes=schemes, seeds=3, crew=ff.RayCrew(2), out=tmp_path / "ray", **settings)
    assert (tmp_path / "one" / "compare.json").read_bytes() == (
        tmp_path / "ray" / "compare.json"
    ).read_bytes()
    crews = {}
    for run in sorted((tmp_path / "one" / "runs").iterdir()):
        assert_same(tmp_path / "ray" / "runs" / run.name, run)
        [session] = json.loads((tmp_path / "ray" / "runs" / run.name / "host.json").read_text())["sessions"]
        crews[run.name] = session["workers"]["joined"]
    # Of three runs of the reference, two are a whole one for each worker, and all workers share the third; then six more.
    assert crews == {
        f"{scheme}-seed{seed}": 2 if (scheme, seed) == ("full", 4) else 1
        for scheme in schemes
        for seed in (2, 3, 4)
    }


def test_the_command_line_has_the_crew(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('seed = 3\n[task]\nname = "synthetic"\n[stop]\nrounds_max = 5\n')
    words = [sys.executable, "-m", "fedflip", "run", "s.toml", "--quiet", "--out"]
    subprocess.run([*words, "one", "--threads", "1"], cwd=tmp_path, check=True)
    subprocess.run([*words, "ray", "--crew", "ray", "--workers", "2"], cwd=tmp_path, check=True, timeout=120)
    assert_same(tmp_path / "ray", tmp_path / "one")


ENDLESS = ["--set", "stop.target_accuracy=1", "--set", "stop.rounds_max=100000000", "--quiet", "--out", "out"]


def begun(folder: Path, words: list[str], has_begun: Callable[[], bool]) -> subprocess.Popen[str]:
    """A command on Ray that has begun its work."""
    (folder / "s.toml").write_text('seed = 3\n[task]\nname = "synthetic"\n')
    temporary = folder / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "fedflip", *words, *ENDLESS, "--crew", "ray", "--workers", "2"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "RAY_TMPDIR": "/tmp"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    while not has_begun():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing has begun"
        time.sleep(0.1)
    return process


def interrupted(folder: Path, how: signal.Signals, words: list[str], has_begun: Callable[[], bool]) -> str:
    """Sends a signal to a command once it has begun; returns what the command printed."""
    process = begun(folder, words, has_begun)
    process.send_signal(how)
    told, problem = process.communicate(timeout=100)
    assert process.returncode == 4, problem
    return told + problem


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_command_ends_after_its_round(tmp_path: Path, how: signal.Signals) -> None:
    """A scheduler sends SIGTERM at a time limit, and Ray has a handler of its own for it."""
    records = tmp_path / "out" / "records.jsonl"
    told = interrupted(
        tmp_path, how, ["run", "s.toml"], lambda: records.exists() and records.stat().st_size > 5_000
    )
    assert "--resume" in told


WHOLE_RUNS = ["compare", "s.toml", "--schemes", "full", "--seeds", "2", "--no-pilot", "--reference", "full"]


def two_whole_runs_have_begun(folder: Path) -> bool:
    return len(list((folder / "tmp").glob("fedflip-*/run/records.jsonl"))) == 2


def test_whole_runs_are_interrupted_too(tmp_path: Path) -> None:
    """A whole run would take for ever; the command ends without it."""
    told = interrupted(tmp_path, signal.SIGINT, WHOLE_RUNS, lambda: two_whole_runs_have_begun(tmp_path))
    assert "--resume" in told
    assert not list((tmp_path / "out").glob("runs/*/records.jsonl"))


def test_a_second_ctrl_c_ends_the_command_at_once(tmp_path: Path) -> None:
    """The exit handlers of Ray would crash while its threads work."""
    process = begun(tmp_path, WHOLE_RUNS, lambda: two_whole_runs_have_begun(tmp_path))
    # The two signals would become one if the first were still on its way.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    process.communicate()
    assert process.returncode == 130
