"""Executors: the standard library, loky, Dask and Parsl."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from cluster_learners import Failing, Odd, Slow
from fedflip._cluster_worker import do_in_process, forget
from fedflip._native_learner import NativeLearner
from run_bytes import assert_same

SETTINGS: dict[str, Any] = {"plan": "full", "rounds_max": 3, "seed": 5, "progress": False}


def pool() -> Executor:
    # A fork of a process with threads may hang.
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


@pytest.fixture
def dask() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@pytest.fixture
def parsl(tmp_path: Path) -> Iterator[Executor]:
    concurrent = pytest.importorskip("parsl.concurrent")
    from parsl import Config, HighThroughputExecutor

    workers = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=2)
    config = Config(executors=[workers], run_dir=str(tmp_path / "parsl"))
    with concurrent.ParslPoolExecutor(config) as executor:
        yield executor


def traces(tmp_path: Path) -> str:
    folder = tmp_path / "traces"
    folder.mkdir(exist_ok=True)
    return str(folder)


@pytest.fixture
def expected(tmp_path: Path) -> Path:
    """A learner and a native task without workers."""
    ff.simulate(Slow(traces(tmp_path), secs=0), out=tmp_path / "learner", **SETTINGS)
    ff.simulate(ff.Scenario("synthetic"), threads=1, out=tmp_path / "native", **SETTINGS)
    return tmp_path


def both(expected: Path, crew: ff.Crew) -> None:
    """A learner and a native task with a crew."""
    ff.simulate(Slow(traces(expected), secs=0), crew=crew, out=expected / "learner-crew", **SETTINGS)
    ff.simulate(ff.Scenario("synthetic"), crew=crew, out=expected / "native-crew", **SETTINGS)
    for name in ("learner", "native"):
        assert_same(expected / f"{name}-crew", expected / name)


def test_a_pool_of_processes_has_the_bytes_of_one_thread(expected: Path) -> None:
    both(expected, ff.ExecutorCrew(pool, workers=2))


def test_an_executor_of_the_caller_stays_open(expected: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        both(expected, ff.ExecutorCrew(executor, workers=2))
        assert executor.submit(sum, [1, 2]).result() == 3


def test_dask_has_the_bytes_of_one_thread(expected: Path, dask: Executor) -> None:
    both(expected, ff.ExecutorCrew(dask, workers=2))


def test_loky_has_the_bytes_of_one_thread(expected: Path) -> None:
    loky = pytest.importorskip("loky")
    both(expected, ff.ExecutorCrew(lambda: loky.ProcessPoolExecutor(2), workers=2))


def test_parsl_has_the_bytes_of_one_thread(expected: Path, parsl: Executor) -> None:
    both(expected, ff.ExecutorCrew(parsl, workers=2))


def test_a_pool_that_breaks_is_made_again(expected: Path) -> None:
    folder = expected / "killed"
    folder.mkdir()
    learner = Slow(str(folder), secs=0.0, kill=4)
    ff.simulate(learner, crew=ff.ExecutorCrew(pool, workers=2), out=expected / "broken", **SETTINGS)
    assert_same(expected / "broken", expected / "learner")


def test_a_pool_of_the_caller_that_breaks_ends_the_run_which_resumes(expected: Path) -> None:
    folder = expected / "killed"
    folder.mkdir()
    learner = Slow(str(folder), secs=0.0, kill=4)
    with pool() as broken, pytest.raises(ff.FedflipError, match="executor broke"):
        ff.simulate(learner, crew=ff.ExecutorCrew(broken, workers=2), out=expected / "broken", **SETTINGS)
    for _ in range(SETTINGS["rounds_max"]):
        crew = ff.ExecutorCrew(pool, workers=2)
        ff.simulate(learner, crew=crew, out=expected / "broken", resume=True, **SETTINGS)
    assert_same(expected / "broken", expected / "learner")


def test_errors_of_a_learner_name_device_and_round(tmp_path: Path) -> None:
    with pytest.raises(ff.LearnerError, match="out of cheese") as caught:
        ff.simulate(Failing(str(tmp_path), secs=0), crew=ff.ExecutorCrew(pool, workers=2), **SETTINGS)
    assert (caught.value.device, caught.value.round) == (3, 2)
    assert "cluster_learners.py" in str(caught.value)


def test_a_native_task_that_diverges_ends_in_the_same_words(tmp_path: Path) -> None:
    settings = {**SETTINGS, "train": {"learning_rate": 1e6, "weight_decay": 1e3}}
    ff.simulate(ff.Scenario("synthetic"), threads=1, out=tmp_path / "one", **settings)
    crew = ff.ExecutorCrew(pool, workers=2)
    ff.simulate(ff.Scenario("synthetic"), crew=crew, out=tmp_path / "crew", **settings)
    assert "diverged: the loss" in (tmp_path / "one" / "records.jsonl").read_text()
    assert_same(tmp_path / "crew", tmp_path / "one")


@pytest.mark.parametrize(
    ("what", "says"),
    [("error", "too odd to travel"), ("junk", "the update"), ("probe", "RuntimeError: bad <object object")],
)
def test_what_a_learner_does_wrong_is_told_and_not_taken_for_a_dead_worker(
    tmp_path: Path, what: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ff.LearnerError, match=says) as caught:
        ff.simulate(Odd(str(tmp_path), what), crew=ff.ExecutorCrew(pool, workers=2), **SETTINGS)
    assert caught.value.round == 1 and caught.value.device is not None
    assert "a worker is lost" not in caplog.text


def test_an_executor_that_is_shut_down_is_told_in_words() -> None:
    executor = ThreadPoolExecutor(2)
    executor.shutdown()
    with pytest.raises(ff.FedflipError, match="the executor takes no more orders") as caught:
        ff.simulate(ff.Scenario("synthetic"), crew=ff.ExecutorCrew(executor, workers=2), **SETTINGS)
    assert "leave the executor open" in caught.value.remedy


def test_a_function_that_makes_no_executor_is_named() -> None:
    with pytest.raises(ff.InputError, match="executor: None is not an Executor"):
        crew = ff.ExecutorCrew(lambda: None, workers=2)  # type: ignore[arg-type, return-value]
        ff.simulate(ff.Scenario("synthetic"), crew=crew, **SETTINGS)


def exits() -> None:
    os._exit(3)


def test_a_pool_whose_workers_die_at_once_is_told_with_the_reason() -> None:
    def dying() -> Executor:
        return ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=exits)

    with pytest.raises(ff.FedflipError, match=r"no worker of 2 can start.*BrokenProcessPool"):
        ff.simulate(ff.Scenario("synthetic"), crew=ff.ExecutorCrew(dying, workers=2), **SETTINGS)


def test_an_executor_of_threads_keeps_no_learner_after_the_run(tmp_path: Path) -> None:
    from fedflip import _cluster_worker

    with ThreadPoolExecutor(2) as executor:
        ff.simulate(Odd(str(tmp_path), ""), crew=ff.ExecutorCrew(executor, workers=2), **SETTINGS)
    assert not _cluster_worker._held
    # The copy that the crew trained, and the learner itself.
    assert (tmp_path / f"closed-{os.getpid()}").exists()


def test_a_time_limit_that_a_crew_cannot_keep_is_refused() -> None:
    with ThreadPoolExecutor(2) as executor:
        crew = ff.ExecutorCrew(executor, workers=2)
        with pytest.raises(ff.InputError, match="native tasks train in the workers of an ExecutorCrew"):
            ff.simulate(ff.Scenario("synthetic"), crew=crew, timeout_secs=3, **SETTINGS)


def test_a_time_limit_of_a_learner_holds_in_the_workers(tmp_path: Path) -> None:
    learner = Slow(traces(tmp_path), secs=5.0)
    with pytest.raises(ff.LearnerError, match=r"took longer than 0\.2 seconds"):
        ff.simulate(learner, crew=ff.ExecutorCrew(pool, workers=2), timeout_secs=0.2, **SETTINGS)


def test_comparisons_spread_whole_runs_among_the_workers_of_an_executor(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"target_accuracy": 0.4, "seed": 2, "pilots": False, "progress": False}
    scenario, schemes = ff.Scenario("synthetic"), ["full", "auto"]
    crew = ff.ExecutorCrew(pool, workers=2)
    ff.compare(scenario, schemes=schemes, seeds=2, threads=1, out=tmp_path / "one", **settings)
    ff.compare(scenario, schemes=schemes, seeds=2, crew=crew, out=tmp_path / "pool", **settings)
    names = sorted(run.name for run in (tmp_path / "one" / "runs").iterdir())
    # Nothing is left over beside the runs.
    assert sorted(run.name for run in (tmp_path / "pool" / "runs").iterdir()) == names
    for name in names:
        assert_same(tmp_path / "pool" / "runs" / name, tmp_path / "one" / "runs" / name)
        [session] = json.loads((tmp_path / "pool" / "runs" / name / "host.json").read_text())["sessions"]
        assert session["workers"] == {"crew": "ExecutorCrew", "joined": 1}, "the run was not a whole one"


class Towards:
    """Devices pull a model that begins elsewhere than at zero."""

    devices = 4
    metrics = {"loss": "min"}

    def samples(self, device: int) -> int:
        return 10 + device

    def initial(self, seed: int) -> Any:
        return np.full(3, seed, np.float32)

    def train(self, model: Any, key: ff.TrainKey) -> Any:
        return np.float32(0.1) * (np.float32(key.device) - model), 1.0

    def evaluate(self, model: Any) -> dict[str, float]:
        return {"loss": float(np.square(model - 1.5).sum())}


def thirds(round: int, seed: int, fleet: ff.Fleet) -> Any:
    cohort = np.arange(round % 3, len(fleet), 3)
    return cohort, fleet.data_shares[cohort] * 3


def test_runs_of_a_learner_and_of_own_schemes_have_the_bytes_of_one_thread(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "stop": ff.Stop("loss", at=0.1),
        "rounds_max": 40,
        "pilots": False,
        "seeds": 2,
        "seed": 1,
    }
    settings |= {"schemes": ["full", "uniform", thirds], "progress": False}
    ff.compare(Towards(), out=tmp_path / "one", **settings)
    with ThreadPoolExecutor(2) as executor:
        ff.compare(Towards(), crew=ff.ExecutorCrew(executor, workers=2), out=tmp_path / "pool", **settings)
    runs = sorted(run.name for run in (tmp_path / "one" / "runs").iterdir())
    assert len(runs) == 6
    for name in runs:
        assert_same(tmp_path / "pool" / "runs" / name, tmp_path / "one" / "runs" / name)


def test_a_whole_run_that_fails_on_a_worker_is_told_with_its_reason(tmp_path: Path) -> None:
    crew = ff.ExecutorCrew(pool, workers=2)
    crew.open(NativeLearner(ff.Scenario("synthetic").to_toml()))
    with crew, pytest.raises(ff.FedflipError, match="synthetic"):
        list(crew.whole_runs([("[task]\nname = 'syntetic'", None, str(tmp_path / "run"))]))
    assert not list(tmp_path.iterdir())


def test_a_process_that_cannot_load_the_learner_is_told_with_its_reason() -> None:
    joined, done = do_in_process("token", b"no learner", ("train", 0, np.zeros(3, np.float32), None))
    assert isinstance(joined, ff.FedflipError) and done is None
    forget("token")


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ff.InputError, match="executor: 3 is not an Executor"):
        ff.ExecutorCrew(3, workers=2)  # type: ignore[arg-type]
    with pytest.raises(ff.InputError, match="workers: 0 is not"):
        ff.ExecutorCrew(pool, workers=0)
    crew = ff.ExecutorCrew(pool, workers=1)
    with pytest.raises(ff.FedflipError, match="not open"):
        crew.train(np.zeros(3, np.float32), [])
