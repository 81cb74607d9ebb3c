"""Twins: native tasks written again in torch follow the native kernels.

Both start from the same model, have the same samples on every device, and draw the same batches. What is left is rounding: the
two programs add up float32 numbers in different orders. Distances below are those of two updates (10 steps of 32 samples)
divided by the length of one. Measured on x86-64 with torch 2.15 over 40 updates and 3 runs of 10 rounds:

=========== ============== ================ =================== ==============
task        middle update  farthest update  after 10 rounds     loss
=========== ============== ================ =================== ==============
mnist-cnn   1.2e-6         1.4e-4           3e-4 to 3e-3        5e-5
softmax     1.3e-7         2.2e-7           1.8e-7              7e-8
hidden      1.7e-7         2.7e-7           2.1e-7              6e-8
=========== ============== ================ =================== ==============

This is no more than float32 costs anyway: the updates of torch and of the native kernels are equally far from those in float64,
4e-6, 3e-7 and 7e-7 in the middle. About one update of mnist-cnn in twenty is 1e-5 to 4e-4 away. There, two numbers in a pooling
window, or a number and zero, are so close that rounding decides which one counts, and the gradient takes another way. Later
rounds start from the difference, so it grows.

Tolerances are a few times the measured values, so that another processor or another version of torch passes. A wrong layer,
loss, learning rate or order of samples does not: the batches of another round move an update by 3e-2 or more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import fedflip as ff
import numpy as np
import numpy.typing as npt
import pytest
from fedflip import _fedflip

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

pytestmark = pytest.mark.torch

Array = npt.NDArray[Any]

DEVICES = 10


class Tolerance(NamedTuple):
    """The largest distances that are allowed: of the middle update, of all updates, after ten rounds, and of the loss."""

    middle: float
    farthest: float
    after_rounds: float
    loss: float


class Cnn(nn.Module):  # type: ignore[misc]
    """The paper's CNN, with the names of the native parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, pictures: Any) -> Any:
        inner = torch.relu(nn.functional.max_pool2d(self.conv1(pictures), 2))
        inner = torch.relu(nn.functional.max_pool2d(self.conv2(inner), 2))
        return self.fc2(torch.relu(self.fc1(inner.flatten(1))))


class Softmax(nn.Module):  # type: ignore[misc]
    """The network of the task synthetic without a hidden layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(60, 10)

    def forward(self, features: Any) -> Any:
        return self.fc(features)


class Hidden(nn.Module):  # type: ignore[misc]
    """The network of the task synthetic with 32 hidden units."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(60, 32), nn.Linear(32, 10)

    def forward(self, features: Any) -> Any:
        return self.fc2(torch.relu(self.fc1(features)))


class Twin(ff.TorchLearner):
    """A learner of torch that begins with the native task's first model."""

    def __init__(self, task: ff.tasks.TaskData, row: Row) -> None:
        self.task, self.row = task, row
        datasets = [self._tensors(*task.device(device)) for device in range(task.devices)]
        test = self._tensors(*task.test())
        super().__init__(
            row.make_model,
            datasets,
            nn.CrossEntropyLoss(),
            steps=10,
            batch=32,
            lr=task.learning_rate,
            test=test,
        )

    def _tensors(self, features: Array, labels: Array) -> Any:
        shape = self.task.sample_shape
        if len(shape) == 3:
            # Height, width and channels become channels, height and width.
            features = np.ascontiguousarray(features.reshape(-1, *shape).transpose(0, 3, 1, 2))
        return TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))

    def initial(self, seed: int) -> Any:
        return self.model_of(self.task.initial(seed=seed))

    def flat(self, model: Any) -> Array:
        """A model or an update of the twin in the native order of parameters."""
        named = self.state_dict(model)
        return np.concatenate([named[name].numpy().ravel() for name in self.task.parameters])


class Row(NamedTuple):
    """A task, its parameters, its network in torch, and how closely the two agree."""

    name: str
    parameters: dict[str, Any]
    make_model: Callable[[], Any]
    tolerance: Tolerance


ROWS = {
    "mnist-cnn": Row("mnist-cnn", {}, Cnn, Tolerance(5e-6, 2e-3, 1e-2, 3e-4)),
    "softmax": Row("synthetic", {}, Softmax, Tolerance(1e-6, 1e-6, 1e-6, 1e-6)),
    "hidden": Row("synthetic", {"hidden": 32}, Hidden, Tolerance(1e-6, 2e-3, 1e-2, 3e-4)),
}


@pytest.fixture(scope="module", params=list(ROWS))
def twin(request: pytest.FixtureRequest) -> Twin:
    row = ROWS[request.param]
    if row.name == "mnist-cnn" and not ff.datasets.available()["mnist"].present:
        pytest.skip("the files of MNIST are not here: `fedflip data get mnist`, or set FEDFLIP_DATA")
    task = ff.tasks.load(row.name, devices=DEVICES, test_samples_max=1000, **row.parameters)
    made = {name: tuple(value.shape) for name, value in row.make_model().named_parameters()}
    assert made == task.parameters
    return Twin(task, row)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The plain loops of these tests are small, and faster without threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def apart(one: Array, other: Array) -> float:
    """The distance of two vectors, divided by the length of the first one."""
    wide = one.astype(np.float64)
    return float(np.linalg.norm(other - wide) / np.linalg.norm(wide))


def test_batches_are_those_of_the_native_kernels(twin: Twin) -> None:
    for round, device in [(1, 0), (7, 3), (40, 9)]:
        ours = _fedflip.batch_indices(5, round, device, twin.samples(device), 32, 10)
        np.testing.assert_array_equal(ours, np.array(twin.task.batches(seed=5, round=round, device=device)))


def test_updates_follow_the_native_kernels(twin: Twin) -> None:
    gaps, losses = [], []
    for seed in (1, 2):
        for device in range(DEVICES):
            native, native_loss = twin.task.train(
                twin.task.initial_vector(seed=seed), seed=seed, round=3, device=device
            )
            update, loss = twin.train(twin.initial(seed), ff.TrainKey(seed, 3, device))
            gaps.append(apart(native, twin.flat(update)))
            losses.append(abs(loss - native_loss) / native_loss)
    assert np.median(gaps) < twin.row.tolerance.middle, gaps
    assert max(gaps) < twin.row.tolerance.farthest, gaps
    assert max(losses) < 1e-5, losses


def test_the_kernels_are_as_exact_as_torch(twin: Twin) -> None:
    """The distance is rounding: in float64 the truth lies about as far from the native update as from torch's."""
    native_gaps, torch_gaps = [], []
    for device in range(3):
        key = ff.TrainKey(1, 3, device)
        exact = in_float64(twin, key)
        native_gaps.append(
            apart(exact, twin.task.train(twin.task.initial_vector(seed=1), seed=1, round=3, device=device)[0])
        )
        torch_gaps.append(apart(exact, twin.flat(twin.train(twin.initial(1), key)[0])))
    assert np.median(native_gaps) < 3 * np.median(torch_gaps), (native_gaps, torch_gaps)


def in_float64(twin: Twin, key: ff.TrainKey) -> Array:
    """The update in float64: a plain loop over the same batches."""
    module = twin.row.make_model()
    first = {
        name: torch.from_numpy(value.astype(np.float64))
        for name, value in twin.task.initial(seed=key.seed).items()
    }
    module.double().load_state_dict(first)
    features, labels = twin._tensors(*twin.task.device(key.device)).tensors
    for rows in twin.task.batches(seed=key.seed, round=key.round, device=key.device):
        module.zero_grad()
        nn.functional.cross_entropy(module(features[rows].double()), labels[rows]).backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter -= twin.task.learning_rate * parameter.grad
    parts = [(value.detach() - first[name]).numpy().ravel() for name, value in module.named_parameters()]
    return np.concatenate(parts)


def test_another_order_of_samples_is_found(twin: Twin) -> None:
    """The tolerance is small enough: another round has other batches, and its update is far away."""
    native, _ = twin.task.train(twin.task.initial_vector(seed=1), seed=1, round=3, device=0)
    update, _ = twin.train(twin.initial(1), ff.TrainKey(1, 4, 0))
    assert apart(native, twin.flat(update)) > 10 * twin.row.tolerance.farthest


def test_runs_follow_each_other(twin: Twin) -> None:
    """Ten rounds with the same plan: the same cohorts and times, and models that stay together."""
    task = twin.task
    columns = ff.Fleet.paper(DEVICES, seed=7).columns()
    fleet = ff.Fleet({**columns, "samples": task.samples})
    plan = ff.plan(fleet, bandwidth_mbps=100, variance=0.3)
    # Nobody reaches the target, so that both runs have all rounds.
    stop = ff.Stop("accuracy", at=1.0)
    shared: dict[str, Any] = {
        "stop": stop,
        "preset": "paper",
        "rounds_max": 10,
        "seed": 3,
        "evaluate_every": 1,
        "bandwidth_mbps": 100,
    }
    scenario = ff.Scenario(task.name, data={"test_samples_max": 1000}, task=twin.row.parameters)
    native = ff.simulate(scenario, fleet=fleet, plan=plan, progress=False, **shared)
    run = ff.simulate(twin, fleet=fleet, plan=plan, progress=False, **shared)
    assert len(native) == len(run) == 10
    for column in ("round", "device"):
        np.testing.assert_array_equal(native.participants[column], run.participants[column])
    np.testing.assert_allclose(native.rounds["round_secs"], run.rounds["round_secs"], rtol=1e-12)
    first = task.initial_vector(seed=3)
    change = np.concatenate([native.model[name].ravel() for name in task.parameters]) - first
    change_of_twin = twin.flat(run.model) - first
    assert apart(change, change_of_twin) < twin.row.tolerance.after_rounds
    np.testing.assert_allclose(
        native.evaluations["loss"], run.evaluations["loss"], rtol=twin.row.tolerance.loss
    )
    # One of 1,000 test samples may lie on the border between two classes.
    np.testing.assert_allclose(native.evaluations["accuracy"], run.evaluations["accuracy"], atol=2e-3)
