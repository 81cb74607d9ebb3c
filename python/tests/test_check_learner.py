"""The check of purity names the source of each leak."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from fedflip._check_learner import check_learner
from fedflip._check_report import LearnerReport
from fedflip._errors import LearnerError
from fedflip._key import TrainKey
from learners import Named, Quadratic


class Pure:
    """A pure learner with two tensors; subclasses leak."""

    devices = 3

    def samples(self, device: int) -> int:
        return device

    def initial(self, seed: int) -> Any:
        return {"w": np.ones((2, 3), np.float32), "b": np.full(2, seed, np.float32)}

    def noise(self, key: TrainKey) -> Any:
        return key.numpy_generator().random(2)

    def train(self, model: Any, key: TrainKey) -> Any:
        noise = (key.rate_factor * self.noise(key)).astype(np.float32)
        return {"w": np.zeros((2, 3), np.float32), "b": noise - np.float32(key.rate_factor) * model["b"]}, 0.5

    def evaluate(self, model: Any) -> Any:
        return {"accuracy": (float(model["b"].sum()), 2)}


class LeaksTorch(Pure):
    def noise(self, key: TrainKey) -> Any:
        import torch

        return torch.rand(2).numpy()


class LeaksNumpy(Pure):
    def noise(self, key: TrainKey) -> Any:
        return np.random.rand(2)


class LeaksRandom(Pure):
    def noise(self, key: TrainKey) -> Any:
        return np.array([random.random(), 0.0])


class LeaksEntropy(Pure):
    def noise(self, key: TrainKey) -> Any:
        return np.random.default_rng().random(2)


class KeepsCount(Pure):
    def __init__(self) -> None:
        self.calls = 0

    def noise(self, key: TrainKey) -> Any:
        self.calls += 1
        return np.full(2, self.calls)


class KeepsMomentum(Pure):
    """Remembers the last training, but only that of another key."""

    def __init__(self) -> None:
        self.last: Any = None

    def noise(self, key: TrainKey) -> Any:
        before, self.last = self.last, key
        return np.full(2, 0 if before in (None, key) else 1)


class LeaksHash(Pure):
    def noise(self, key: TrainKey) -> Any:
        return np.array([hash("a text") % 1000, hash("another") % 1000])


class LeaksProcess(Pure):
    def __init__(self) -> None:
        self.factor = 2.0

    def __getstate__(self) -> Any:
        return {"factor": 3.0}

    def noise(self, key: TrainKey) -> Any:
        return np.full(2, self.factor)


class LeaksThreads(Pure):
    def noise(self, key: TrainKey) -> Any:
        import torch

        return np.full(2, torch.get_num_threads())


class Mutates(Pure):
    def train(self, model: Any, key: TrainKey) -> Any:
        import torch

        torch.from_numpy(model["b"])[0] = 7.0
        return super().train(model, key)


class Diverges(Pure):
    def noise(self, key: TrainKey) -> Any:
        return np.array([np.nan, 0.0])


class RandomStart(Pure):
    def initial(self, seed: int) -> Any:
        return {**super().initial(seed), "b": np.random.rand(2).astype(np.float32)}


class RandomTest(Pure):
    def evaluate(self, model: Any) -> Any:
        return {"accuracy": random.random()}


class ReturnsModel(Pure):
    """Returns the local model instead of its change."""

    def train(self, model: Any, key: TrainKey) -> Any:
        update, loss = super().train(model, key)
        return {name: model[name] + update[name] for name in update}, loss


class ReturnsFlatModel:
    """The same with a flat array, whose first model is zero."""

    devices = 1

    def samples(self, device: int) -> int:
        return 1

    def initial(self, seed: int) -> Any:
        return np.zeros(4, np.float32)

    def train(self, model: Any, key: TrainKey) -> Any:
        # A training that ends near its optimum forgets the model, unless its rate is low.
        return (model - np.float32(key.rate_factor) * (model - 3)).astype(np.float32), 0.5

    def evaluate(self, model: Any) -> Any:
        return {}


class Constant(ReturnsFlatModel):
    def train(self, model: Any, key: TrainKey) -> Any:
        return np.full(4, key.rate_factor, np.float32), 0.5


class Overshoots(ReturnsFlatModel):
    """A rate far too high, which the key does not lower."""

    def train(self, model: Any, key: TrainKey) -> Any:
        return (-3 * (model - 3)).astype(np.float32), 0.5


class OvershootsTwice(ReturnsFlatModel):
    """Two steps of such a rate, so that the change has the direction of the model."""

    def train(self, model: Any, key: TrainKey) -> Any:
        return (3 * (model - 3)).astype(np.float32), 0.5


class Empty(Pure):
    """A model with a tensor of no numbers."""

    def initial(self, seed: int) -> Any:
        return {**super().initial(seed), "none": np.zeros((0, 3), np.float32)}

    def train(self, model: Any, key: TrainKey) -> Any:
        update, loss = super().train(model, key)
        return {**update, "none": model["none"]}, loss


class Fails(Pure):
    def train(self, model: Any, key: TrainKey) -> Any:
        raise OSError("no disk")


class CannotTravel(Pure):
    def __getstate__(self) -> Any:
        raise TypeError("a connection stays here")


class IgnoresRate(Pure):
    def train(self, model: Any, key: TrainKey) -> Any:
        return super().train(model, key._replace(rate_factor=1.0))


def test_a_pure_learner_passes() -> None:
    report = check_learner(Pure())
    assert report.ok and not report.failures, report
    report.raise_if_bad()
    checks = [finding.check for finding in report.findings]
    assert "train in another process" in checks and "train after other keys" in checks
    assert repr(report).startswith(f"Pure passed all {len(checks)} checks in") and "8 parameters" in repr(
        report
    )
    assert "rate_factor" not in repr(report)
    assert "<pre>Pure passed" in report._repr_html_()
    assert pickle.loads(pickle.dumps(report)) == report


@pytest.mark.parametrize(
    ("leaky", "check", "source"),
    [
        (LeaksTorch, "train with another seed of torch", "fedflip.seed_torch(key)"),
        (LeaksNumpy, "train with another seed of numpy.random", "key.numpy_generator()"),
        (LeaksRandom, "train with another seed of random", "the module random"),
        (LeaksEntropy, "train again", "default_rng() without a seed"),
        (KeepsCount, "train again", "keeps something between calls"),
        (KeepsMomentum, "train after other keys", "keeps something between calls"),
        (LeaksThreads, "train with 3 threads of torch", "several threads"),
        (Diverges, "train", ""),
        (RandomStart, "initial(1) twice", "`seed` seeds"),
        (RandomTest, "evaluate twice", "random samples in evaluate"),
        (Mutates, "the model after training", "torch.from_numpy(model)"),
        (Fails, "the learner answers", "correct the code"),
    ],
)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_leaks_are_named_with_their_source(leaky: type[Pure], check: str, source: str) -> None:
    # Generators of torch are checked where torch is in use.
    pytest.importorskip("torch")
    report = check_learner(leaky(), processes=False)
    assert [finding.check for finding in report.failures] == [check], report
    assert source in report.failures[0].source and report.failures[0].detail
    assert "FAIL" in repr(report)
    with pytest.raises(LearnerError, match="failed 1 of"):
        report.raise_if_bad()


def test_the_tensors_that_differ_are_named() -> None:
    [finding] = check_learner(LeaksNumpy(), processes=False).failures
    assert finding.difference is not None
    [(name, largest, share)] = finding.difference.tensors
    assert (name, share) == ("b", 1.0) and 0 < largest < 1
    assert "1 of 2 tensors differ, most in 'b': by up to" in finding.detail and "100%" in finding.detail


@pytest.mark.parametrize(
    ("leaky", "check", "source"),
    [
        (LeaksHash, "train in two other processes", "the order of a set"),
        (LeaksProcess, "train in another process", "only this process has"),
        (CannotTravel, "train in another process", "cloudpickle"),
    ],
)
def test_differences_between_processes_are_named(leaky: type[Pure], check: str, source: str) -> None:
    report = check_learner(leaky())
    assert [finding.check for finding in report.failures] == [check], report
    assert source in report.failures[0].source, report


@pytest.mark.parametrize("made", [ReturnsModel, ReturnsFlatModel])
def test_a_learner_that_returns_the_local_model_is_told(made: type[Any]) -> None:
    report = check_learner(made(), processes=False)
    [finding] = report.failures
    assert finding.check == "train returns the change" and " times the movement" in finding.detail, report
    assert "the local model minus the model that it got" in finding.source


@pytest.mark.parametrize(
    "made", [Constant, Overshoots, OvershootsTwice, Empty, IgnoresRate, Quadratic, Named]
)
def test_changes_of_every_kind_pass(made: type[Any]) -> None:
    report = check_learner(made(), processes=False)
    assert report.ok and report.findings[-1].check == "train returns the change", report


def test_global_generators_keep_their_state() -> None:
    torch = pytest.importorskip("torch")
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # type: ignore[index]
    check_learner(LeaksTorch(), processes=False)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states[:2]  # type: ignore[index]
    assert torch.equal(torch.get_rng_state(), states[2])


def test_keys_and_remarks() -> None:
    report = check_learner(IgnoresRate(), key=TrainKey(4, 5, 2), processes=False)
    assert report.ok and any("rate_factor" in note for note in report.notes)
    assert report.findings[0].check == "initial(4) twice"


def test_what_is_no_learner_is_a_failure_and_no_exception() -> None:
    report = check_learner(object())
    assert not report.ok and "lacks devices" in report.failures[0].detail
    assert isinstance(report, LearnerReport)
