"""Crews of worker processes: the same results as in this process, whatever happens to the workers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip
import numpy as np
import pytest
from fedflip._crew import Crew, InlineCrew, Trained
from fedflip._errors import FedflipError, InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._learner import DivergedError, FlatLearner
from fedflip._process_crew import ProcessCrew
from fedflip._process_parcel import Parcel, pack, unpack

SIZE = 1000
PACKAGE = str(Path(fedflip.__file__).parents[1])


class Numbers:
    """Updates that follow from model and key. `harm` maps devices to what goes wrong there; `folder` is shared."""

    devices = 20

    def __init__(
        self, folder: Path | None = None, harm: dict[int, str] | None = None, once: bool = True
    ) -> None:
        self.folder, self.harm, self.once = folder, harm or {}, once
        self.data = np.arange(100_000, dtype=np.float64)

    def samples(self, device: int) -> int:
        return device + 1

    def initial(self, seed: int) -> Any:
        return np.linspace(0, seed + 1, SIZE, dtype=np.float32)

    def train(self, model: Any, key: TrainKey) -> Any:
        self.do_harm(self.harm.get(key.device, ""), key.device)
        noise = key.numpy_generator().standard_normal(SIZE).astype(np.float32)
        return 0.1 * key.rate_factor * noise + model * np.float32(key.device), float(noise[0]) + self.data[
            key.device
        ]

    def loss(self, model: Any, device: int) -> float:
        self.do_harm(self.harm.get(-device, ""), device)
        return float(model[1]) * device

    def evaluate(self, model: Any) -> Any:
        self.do_harm(self.harm.get(99, ""), 99)
        return {"accuracy": (float(model.sum()), 4), "threads": float(os.environ["OMP_NUM_THREADS"] == "1")}

    def do_harm(self, what: str, device: int) -> None:
        if not what or self.folder is None:
            return
        trace = self.folder / f"{device}"
        times = int(trace.read_text()) if trace.exists() else 0
        trace.write_text(str(times + 1))
        if self.once and times:
            return
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "exit":
            os._exit(7)
        elif what == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif what == "hang":
            time.sleep(1000)
        elif what == "hang-with-lock":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM})
            while True:
                sum(range(10_000_000))
        elif what == "raise":
            raise RuntimeError(f"device {device} has no disk")
        elif what == "diverge":
            raise DivergedError("the loss is nan")


class DiskError(LearnerError):
    """An error of a learner that needs more than a text to be made again."""

    def __init__(self, disk: str, device: int) -> None:
        super().__init__(f"{disk} is full", device=device, remedy="empty the disk")
        self.disk = disk


class PerhapsUnreadable:
    """A value that only worker processes can unpickle."""

    def __reduce__(self) -> Any:
        return _refuse_in_the_parent, ()


def _refuse_in_the_parent() -> PerhapsUnreadable:
    if "FEDFLIP_WORKER" not in os.environ:
        raise OSError("only workers may")
    return PerhapsUnreadable()


class RaisesOddly(Numbers):
    """Raises errors that do not travel well: device 1 in one way, device 2 in another, and so on."""

    def train(self, model: Any, key: TrainKey) -> Any:
        if key.device == 1:
            error = LearnerError("the disk is full", remedy="empty the disk")
            error.lock = threading.Lock()  # type: ignore[attr-defined]
            raise error
        if key.device == 2:
            raise DiskError("the second disk", device=2)
        if key.device == 3:
            diverged = DivergedError("the loss is nan")
            diverged.values = PerhapsUnreadable()  # type: ignore[attr-defined]
            raise diverged
        if key.device == 4:
            wild = DivergedError("the loss is infinite")
            wild.lock = threading.Lock()  # type: ignore[attr-defined]
            raise wild
        return super().train(model, key)


class Mutates(Numbers):
    """Writes to one number of the model it was lent, past numpy."""

    def train(self, model: Any, key: TrainKey) -> Any:
        if key.device == 1:
            import ctypes

            ctypes.c_float.from_address(model.ctypes.data + 4 * 501).value += 1.0
        return super().train(model, key)


def keys(round: int = 1, count: int = 20) -> list[TrainKey]:
    return [TrainKey(5, round, device) for device in range(count)]


def fetch(crew: Any, count: int) -> dict[int, tuple[bytes, float]]:
    results = [crew.next() for _ in range(count)]
    return {device: (update.tobytes(), loss) for device, update, loss in results}


def expected(learner: Any = None, round: int = 1) -> dict[int, tuple[bytes, float]]:
    crew = InlineCrew()
    crew.open(FlatLearner(learner or Numbers()))
    crew.train(model(), keys(round))
    return fetch(crew, 20)


def model(seed: int = 0) -> Any:
    return np.linspace(0, seed + 1, SIZE, dtype=np.float32)


def shared_names() -> set[str]:
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def children() -> set[int]:
    """The processes that this one started and that are not gone, zombies included."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            found.add(int(place.parent.name))
    return found


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool], secs: float = 20) -> bool:
    until = time.monotonic() + secs
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    names, processes = shared_names(), children()
    yield
    assert shared_names() - names == set()
    assert children() - processes == set()


class TestContract:
    """What every crew promises; crews of clusters pass the same tests."""

    @pytest.fixture(params=["inline", "one process", "two processes"])
    def opened(self, request: pytest.FixtureRequest) -> Iterator[Any]:
        kinds: dict[str, Callable[[], Any]] = {"inline": InlineCrew, "one process": lambda: ProcessCrew(1)}
        with kinds.get(request.param, lambda: ProcessCrew(2))() as crew:
            crew.open(FlatLearner(Numbers()))
            yield crew

    def test_every_crew_keeps_the_contract(self, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(opened, Crew)
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        # Several models at a time, and an array that the caller changes at once.
        lent = model()
        opened.train(lent, keys(1, 7))
        lent[:] = model(1)
        opened.train(lent, keys(1)[7:])
        lent[:] = np.nan
        one, two = InlineCrew(), InlineCrew()
        for other, seed, part in [(one, 0, keys(1, 7)), (two, 1, keys(1)[7:])]:
            other.open(FlatLearner(Numbers()))
            other.train(model(seed), part)
        assert opened.evaluate(model()) == {"accuracy": (float(model().sum()), 4.0), "threads": (1.0, 1.0)}
        assert fetch(opened, 20) == {**fetch(one, 7), **fetch(two, 13)}
        assert opened.losses(model(), [3, 1, 2]) == [float(model()[1]) * device for device in (3, 1, 2)]
        assert opened.losses(model(), []) == []
        opened.train(model(), [])
        with pytest.raises(FedflipError, match="no training is outstanding"):
            opened.next()
        opened.train(model(), [TrainKey(5, 2, 3, 0.5)])
        trained = opened.next()
        assert isinstance(trained, Trained) and trained.device == 3 and trained.update.dtype == np.float32
        trained.update[0] = 1  # The array belongs to the caller.
        opened.close()
        for call in (lambda: opened.evaluate(model()), lambda: opened.train(model(), keys()), opened.next):
            with pytest.raises(FedflipError):
                call()

    def test_a_packed_learner_opens_any_crew(self) -> None:
        with InlineCrew() as crew:
            crew.open(pack(FlatLearner(Numbers())))
            crew.train(model(), keys())
            assert fetch(crew, 20) == expected()


class TestProcesses:
    def test_many_rounds_with_many_models_at_a_time(self) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Numbers()))
            assert len(set(crew.process_ids)) == 2 and os.getpid() not in crew.process_ids
            # As in a run without rounds: each training has a model of its own.
            for number in range(60):
                crew.train(model(number), [TrainKey(1, number + 1, number % 20)])
            assert crew.outstanding == 60
            got = sorted(float(np.abs(crew.next().update).sum()) for _ in range(60))
            flat = FlatLearner(Numbers())
            want = sorted(
                float(np.abs(flat.train(model(n), TrainKey(1, n + 1, n % 20))[0]).sum()) for n in range(60)
            )
            assert got == want and crew.outstanding == 0

    def test_results_that_nobody_fetches_are_bounded_and_evaluations_go_first(self) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Numbers()))
            crew.train(model(), keys() * 5)
            for _ in range(3):
                crew.evaluate(model())
                crew.losses(model(), range(20))
            assert len(crew._opened().finished) <= 2 * crew.workers + 5
            assert len([crew.next() for _ in range(100)]) == 100

    @pytest.mark.parametrize("harm", ["kill", "exit", "segfault"])
    def test_a_worker_that_dies_is_replaced_and_its_work_repeated(self, harm: str, tmp_path: Path) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Numbers(tmp_path, {3: harm, 11: harm})))
            crew.train(model(), keys())
            assert fetch(crew, 20) == expected()
            assert (tmp_path / "3").read_text() == "2"

    def test_a_worker_killed_from_outside_in_mid_training_changes_nothing(self) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Numbers()))
            for round in (1, 2):
                crew.train(model(), keys(round))
                first = crew.next()
                for pid in crew.process_ids:
                    os.kill(pid, signal.SIGKILL)
                results = {first.device: (first.update.tobytes(), first.loss), **fetch(crew, 19)}
                assert results == expected(round=round)

    def test_a_training_that_kills_every_worker_is_given_up_with_its_place(self, tmp_path: Path) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Numbers(tmp_path, {4: "exit"}, once=False)))
            crew.train(model(), keys(3))
            errors, results = [], {}
            for _ in range(20):
                try:
                    device, update, loss = crew.next()
                    results[device] = (update.tobytes(), loss)
                except LearnerError as error:
                    errors.append(error)
            assert [(error.device, error.round) for error in errors] == [(4, 3)]
            assert "3 worker processes died" in errors[0].problem and "code 7" in errors[0].problem
            assert results == {device: value for device, value in expected(round=3).items() if device != 4}
            assert (tmp_path / "4").read_text() == "3"
            assert crew.evaluate(model())["threads"] == (1.0, 1.0)

    @pytest.mark.parametrize("harm", ["hang", "hang-with-lock"])
    def test_a_training_that_hangs_once_is_repeated(self, harm: str, tmp_path: Path) -> None:
        with ProcessCrew(2, timeout_secs=1.5) as crew:
            crew.open(FlatLearner(Numbers(tmp_path, {5: harm})))
            crew.train(model(), keys())
            assert fetch(crew, 20) == expected()

    def test_a_training_that_hangs_twice_is_given_up_with_its_place(self, tmp_path: Path) -> None:
        with ProcessCrew(1) as crew:
            # The time limit of the learner counts if the crew has none.
            crew.open(FlatLearner(Numbers(tmp_path, {5: "hang"}, once=False), timeout_secs=1.0))
            crew.train(model(), [TrainKey(5, 9, 5)])
            with pytest.raises(LearnerError, match="longer than 1 seconds, 2 times") as caught:
                crew.next()
            assert (caught.value.device, caught.value.round) == (5, 9)
            crew.train(model(), keys()[:5])
            assert len(fetch(crew, 5)) == 5

    def test_exceptions_come_back_with_their_traceback_and_the_crew_goes_on(self, tmp_path: Path) -> None:
        with ProcessCrew(2) as crew:
            crew.open(
                FlatLearner(
                    Numbers(tmp_path, {4: "raise", 6: "diverge", -2: "raise", 99: "raise"}, once=False)
                )
            )
            crew.train(model(), keys(8))
            errors: dict[Any, LearnerError] = {}
            for _ in range(20):
                try:
                    crew.next()
                except LearnerError as error:
                    errors[error.device] = error
            assert sorted(errors) == [4, 6] and {error.round for error in errors.values()} == {8}
            assert "RuntimeError: device 4 has no disk" in errors[4].problem
            assert 'raise RuntimeError(f"device {device} has no disk")' in errors[4].traceback
            assert isinstance(errors[6], DivergedError)
            with pytest.raises(LearnerError, match="device 2 has no disk") as caught:
                crew.losses(model(), [1, 2, 3])
            assert caught.value.device == 2
            with pytest.raises(LearnerError, match="evaluate failed: RuntimeError"):
                crew.evaluate(model())
            assert crew.losses(model(), [1, 3]) == [float(model()[1]), 3 * float(model()[1])]

    def test_errors_that_cannot_travel_come_back_as_plain_ones_and_no_worker_dies(self) -> None:
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(RaisesOddly()))
            pids = crew.process_ids
            crew.train(model(), keys(7))
            errors: dict[Any, LearnerError] = {}
            for _ in range(20):
                try:
                    crew.next()
                except LearnerError as error:
                    errors[error.device] = error
            assert sorted(errors) == [1, 2, 3, 4] and {error.round for error in errors.values()} == {7}
            assert crew.process_ids == pids
        assert type(errors[1]) is LearnerError and errors[1].remedy == "empty the disk"
        assert "the disk is full" in errors[1].problem and "raise error" in errors[1].traceback
        assert "the second disk is full" in errors[2].problem and "raise DiskError" in errors[2].traceback
        assert "OSError: only workers may" in errors[3].problem and "_refuse_in" in errors[3].traceback
        assert isinstance(errors[4], DivergedError) and "the loss is infinite" in errors[4].problem

    def test_one_changed_number_of_the_lent_model_is_found_and_harms_nobody(self) -> None:
        with ProcessCrew(1) as crew:
            crew.open(FlatLearner(Mutates()))
            crew.train(model(), [TrainKey(5, 1, device) for device in (0, 1, 2)])
            want = expected()
            assert crew.next().update.tobytes() == want[0][0]
            with pytest.raises(LearnerError, match="changed the model it was lent") as caught:
                crew.next()
            assert caught.value.device == 1 and "copy" in caught.value.remedy
            assert crew.next().update.tobytes() == want[2][0]

    def test_wrong_models_and_arguments_are_refused(self) -> None:
        for workers in (0, -1, 1.5, True, "2", 2000):
            with pytest.raises(InputError) as caught:
                ProcessCrew(workers)  # type: ignore[arg-type]
            assert caught.value.where == "workers" and caught.value.value is workers
        with pytest.raises(InputError) as caught:
            ProcessCrew(2, start_method="fork")
        assert caught.value.where == "start_method" and "fork" in caught.value.remedy
        with ProcessCrew(1) as crew:
            crew.open(FlatLearner(Numbers()))
            with pytest.raises(InputError, match="1,000 parameters"):
                crew.train(np.zeros(3, np.float32), keys())
            wrong_calls: list[tuple[Any, str]] = [
                (lambda: crew.train(model(), TrainKey(1, 1, 0)), "keys[0]"),
                (lambda: crew.train(model(), [(1, 1, 0)]), "keys[0]"),  # type: ignore[list-item]
                (lambda: crew.train(model(), 5), "keys"),  # type: ignore[arg-type]
                (lambda: crew.losses(model(), [-1]), "devices[0]"),
                (lambda: crew.losses(model(), "12"), "devices"),  # type: ignore[arg-type]
                (lambda: crew.evaluate(None), "model"),  # type: ignore[arg-type]
            ]
            for call, where in wrong_calls:
                with pytest.raises(InputError) as caught:
                    call()
                assert caught.value.where == where and caught.value.remedy
            assert crew.outstanding == 0

    def test_a_fork_of_the_parent_does_not_end_the_workers(self) -> None:
        with ProcessCrew(1) as crew:
            crew.open(FlatLearner(Numbers()))
            if (child := os.fork()) == 0:
                crew.close()
                os._exit(0)
            os.waitpid(child, 0)
            crew.train(model(), keys())
            assert fetch(crew, 20) == expected()

    def test_opens_again_after_close_and_is_collected_without_one(self) -> None:
        crew = ProcessCrew(1)
        for _ in range(2):
            crew.open(FlatLearner(Numbers()))
            pids = crew.process_ids
            crew.train(model(), keys()[:2])
            crew.close()
            crew.close()
            assert not any(map(is_running, pids)) and "closed" in repr(crew)
        crew.open(FlatLearner(Numbers()))
        pids = crew.process_ids
        del crew
        assert wait_until(lambda: not any(map(is_running, pids)))


class Unloadable:
    """A learner that no other process can make."""

    devices = 1

    def __init__(self) -> None:
        self.samples = self.initial = self.train = self.evaluate = None

    def __reduce__(self) -> Any:
        return _explode, ()


def _explode() -> None:
    raise OSError("no such data folder")


class DiesAtStart(Unloadable):
    """A learner whose module kills the process that loads it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def with_layout(learner: Any) -> FlatLearner:
    flat = FlatLearner(Numbers())
    flat.tensors()
    flat._learner = learner
    return flat


class TestParcels:
    def test_a_learner_that_cannot_be_pickled_says_how_to_mend_it(self) -> None:
        learner = Numbers()
        learner.lock = threading.Lock()  # type: ignore[attr-defined]
        with pytest.raises(InputError) as caught:
            ProcessCrew(1).open(FlatLearner(learner))
        assert (
            caught.value.where == "learner"
            and "cloudpickle" in caught.value.remedy
            and "Numbers" in caught.value.problem
        )

    def test_a_worker_that_cannot_load_the_learner_says_why(self) -> None:
        with pytest.raises(LearnerError, match="no such data folder") as caught:
            ProcessCrew(1).open(with_layout(Unloadable()))
        assert "_explode" in caught.value.traceback

    def test_workers_that_die_at_their_start_are_not_started_for_ever(self) -> None:
        with pytest.raises(LearnerError, match="before they could load the learner: it exited with code 3"):
            ProcessCrew(1).open(with_layout(DiesAtStart()))

    def test_lambdas_travel_with_cloudpickle(self) -> None:
        pytest.importorskip("cloudpickle")
        learner = Numbers()
        learner.evaluate = lambda model: {"answer": 42.0}  # type: ignore[method-assign]
        with ProcessCrew(1) as crew:
            crew.open(FlatLearner(learner))
            assert crew.evaluate(model()) == {"answer": (42.0, 1.0)}

    def test_slices_of_one_tensor_do_not_multiply(self) -> None:
        torch = pytest.importorskip("torch")
        learner = Numbers()
        whole = torch.arange(1_000_000, dtype=torch.float32)
        learner.slices = [whole[n * 10_000 : (n + 1) * 10_000] for n in range(100)]  # type: ignore[attr-defined]
        learner.scalar, learner.turned = torch.tensor(3), torch.arange(6).view(2, 3).T  # type: ignore[attr-defined]
        parcel = Parcel(FlatLearner(learner))
        assert parcel.nbytes < 1.2 * (4_000_000 + 800_000)
        copied: Any = unpack(pack(FlatLearner(learner))).learner
        assert all(torch.equal(one, two) for one, two in zip(copied.slices, learner.slices, strict=False))  # type: ignore[attr-defined]
        assert copied.scalar == 3 and torch.equal(copied.turned, learner.turned)  # type: ignore[attr-defined]
        copied.slices[0] += 1
        assert np.array_equal(copied.data, learner.data) and copied.data.flags.writeable

    def test_shared_memory_needs_no_special_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(os, "memfd_create")
        with ProcessCrew(1) as crew:
            crew.open(FlatLearner(Numbers()))
            crew.train(model(), keys())
            assert fetch(crew, 20) == expected()

    def test_values_can_be_pickled(self) -> None:
        trained = Trained(3, np.zeros(2, np.float32), 0.5)
        assert pickle.loads(pickle.dumps(trained)).device == 3


SCRIPT = """
    import os, sys
    HIDE_CLOUDPICKLE
    sys.path.insert(0, PACKAGE)
    import numpy as np
    from fedflip._crew import InlineCrew
    from fedflip._key import TrainKey
    from fedflip._learner import FlatLearner
    from fedflip._process_crew import ProcessCrew

    class Mine:
        devices = 3
        def samples(self, device): return 1
        def initial(self, seed): return np.zeros(4, np.float32)
        def train(self, model, key):
            WHILE_TRAINING
            return np.full(4, key.device, np.float32), 0.5
        def evaluate(self, model): return {}

    def main():
        with ProcessCrew(2) as crew:
            crew.open(FlatLearner(Mine()))
            print("workers", *crew.process_ids, flush=True)
            crew.train(np.zeros(4, np.float32), [TrainKey(1, 1, device) for device in range(3)])
            print(sorted(crew.next().update.sum() for _ in range(3)), flush=True)

    MAIN
"""
GUARDED = 'if __name__ == "__main__": main()'


class TestScripts:
    """From a plain script file, as a user has it."""

    def script(
        self, folder: Path, main: str = GUARDED, training: str = "pass", cloudpickle: bool = True
    ) -> list[str]:
        text = textwrap.dedent(SCRIPT).replace("PACKAGE", repr(PACKAGE)).replace("WHILE_TRAINING", training)
        hide = "pass" if cloudpickle else "sys.modules['cloudpickle'] = None"
        (folder / "mine.py").write_text(text.replace("HIDE_CLOUDPICKLE", hide).replace("MAIN", main))
        return [sys.executable, str(folder / "mine.py")]

    def output(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    @pytest.mark.parametrize("cloudpickle", [True, False])
    def test_a_plain_script_runs(self, tmp_path: Path, cloudpickle: bool) -> None:
        if cloudpickle:
            pytest.importorskip("cloudpickle")
        done = self.output(self.script(tmp_path, cloudpickle=cloudpickle))
        assert done.returncode == 0 and "[0.0, 4.0, 8.0]" in done.stdout.replace("np.float32(", "").replace(
            ")", ""
        ), done
        assert done.stderr == ""

    def test_a_script_without_a_guard_runs_with_cloudpickle(self, tmp_path: Path) -> None:
        pytest.importorskip("cloudpickle")
        done = self.output(self.script(tmp_path, main="main()"))
        assert done.returncode == 0 and done.stdout.count("workers") == 1, done

    def test_a_script_without_a_guard_is_refused_without_cloudpickle(self, tmp_path: Path) -> None:
        done = self.output(self.script(tmp_path, main="main()", cloudpickle=False))
        assert done.returncode == 1 and "workers" not in done.stdout, done
        assert (
            'if __name__ == "__main__":' in done.stderr
            and "begins a run when a worker process imports it" in done.stderr
        )

    def test_code_from_the_prompt_needs_cloudpickle(self, tmp_path: Path) -> None:
        self.script(tmp_path, main="main()", cloudpickle=False)
        done = self.output([sys.executable, "-c", (tmp_path / "mine.py").read_text()])
        assert (
            done.returncode == 1
            and "notebook or at the prompt" in done.stderr
            and "cloudpickle" in done.stderr
        )

    def started(self, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
        command = self.script(folder, training="import time; time.sleep(1000)")
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()[1:]]
        assert len(pids) == 2 and all(map(is_running, pids))
        return process, pids

    def test_workers_end_when_the_parent_is_killed(self, tmp_path: Path) -> None:
        process, pids = self.started(tmp_path)
        with process:
            process.kill()
            process.wait()
            assert wait_until(lambda: not any(map(is_running, pids)))

    def test_ctrl_c_ends_the_parent_first_and_leaves_no_worker(self, tmp_path: Path) -> None:
        process, pids = self.started(tmp_path)
        with process:
            # As a terminal does it: the signal goes to all processes.
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=20)
            assert errors.count("KeyboardInterrupt") == 1 and "fedflip._process_worker" not in errors
            assert wait_until(lambda: not any(map(is_running, pids)))


def test_processes_train_where_standard_input_is_closed(tmp_path: Path) -> None:
    """The first descriptors that such a process opens have the numbers of the standard streams."""
    (tmp_path / "script.py").write_text(
        "import fedflip as ff\n"
        "run = ff.simulate(ff.Scenario('synthetic'), workers='process', threads=2, rounds_max=2, progress=False)\n"
        "print(len(run))\n"
    )
    words = f"exec {sys.executable} {tmp_path / 'script.py'} <&-"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n", done.stderr


def test_a_crew_of_processes_keeps_the_time_limit_of_a_native_task() -> None:
    """The crew is given as an object, with no limit of its own."""
    scenario = fedflip.Scenario(
        "synthetic", train={"iterations": 1_000_000}, task={"hidden": 100}, rounds_max=1
    )
    with pytest.raises(LearnerError, match="took longer than 0.5 seconds, 2 times"):
        fedflip.simulate(scenario, plan="full", crew=ProcessCrew(1), timeout_secs=0.5, progress=False)
