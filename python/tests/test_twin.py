"""Twins: native tasks written again in torch follow the native kernels.

Both start from the same model, have the same samples on every device, and draw the same batches. What is left is rounding: the
two programs add up float32 numbers in different orders. The first three columns are distances of two updates (10 steps of 32
samples), or of two changes of the model, divided by the length of one. "After a round" is the farthest of ten rounds with four
devices each, and "parameter" is the largest difference of one parameter in these rounds. Measured on x86-64 with torch 2.15,
over 40 updates and 8 runs of each CNN, or 3 runs of the other networks:

=========== ============== =============== ================== ================== =========
task        middle update  farthest update after a round      parameter          loss
=========== ============== =============== ================== ================== =========
mnist-cnn   1.2e-6         8.4e-4          2.2e-6 to 4.3e-3   2.7e-7 to 2.0e-4   1.2e-4
own-cnn     1.2e-6         1.5e-3          5.6e-5 to 5.6e-3   3.3e-6 to 3.1e-4   1.9e-4
softmax     1.2e-7         2.2e-7          3.1e-7             3.0e-8             6.8e-8
hidden      1.7e-7         2.6e-7          3.6e-7             3.0e-8             6.3e-8
=========== ============== =============== ================== ================== =========

This is no more than float32 costs anyway: the updates of torch and of the native kernels are equally far from those in float64,
4e-6 in the middle for a CNN. About one update of a CNN in twenty is 1e-5 to 1e-3 away. There, two numbers in a pooling
window, or a number and zero, are so close that rounding decides which one counts, and the gradient takes another way. Later
rounds start from the difference, so it grows.

Tolerances leave room for other processors and versions of torch. They are small enough to find mistakes: a learning rate that is
wrong by 1 % moves an update of a CNN by 1.3e-2 in the middle and the model after each round by 1.2e-2 or more, and the
batches of another round move an update by 3e-2 or more.

``mnist-cnn`` is the paper's CNN on MNIST. ``own-cnn`` needs no download: the CNN of the task ``own`` on synthetic pictures. It has
the layers, channels and units of ``mnist-cnn``, but its convolutions are padded. The golden values of
``crates/learn/tests/golden`` compare the network without padding with torch, too, on synthetic pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fedflip as ff
import numpy as np
import pytest
from fedflip import _fedflip

torch = pytest.importorskip("torch")
from torch_networks import Cnn, Hidden, PaddedCnn, Softmax  # noqa: E402
from twins import BATCH, DEVICES, STEPS, Array, BuiltIn, NativeTask, OwnPictures, Twin, flat  # noqa: E402

pytestmark = pytest.mark.torch

ROUNDS, RUN_SEED = 10, 3


class Tolerance(NamedTuple):
    """The largest distances that are allowed."""

    middle: float
    farthest: float
    after_round: float
    parameter: float
    loss: float


OF_CNN = Tolerance(middle=5e-6, farthest=5e-3, after_round=8e-3, parameter=5e-4, loss=5e-4)
#: A number that rounding moves across zero at a hidden unit has not been seen, but may occur elsewhere.
OF_HIDDEN = Tolerance(middle=1e-6, farthest=1e-3, after_round=1e-3, parameter=1e-4, loss=1e-4)
OF_SOFTMAX = Tolerance(middle=1e-6, farthest=1e-6, after_round=1e-6, parameter=2e-7, loss=1e-6)


class Row(NamedTuple):
    """A native task, and how closely its twin follows."""

    make_task: Callable[[Path], NativeTask]
    tolerance: Tolerance


ROWS = {
    "mnist-cnn": Row(lambda folder: BuiltIn("mnist-cnn", Cnn), OF_CNN),
    "own-cnn": Row(
        lambda folder: OwnPictures(folder, PaddedCnn, model="cnn", filters=10, hidden_units=50), OF_CNN
    ),
    "softmax": Row(lambda folder: BuiltIn("synthetic", Softmax), OF_SOFTMAX),
    "hidden": Row(lambda folder: BuiltIn("synthetic", Hidden, hidden=32), OF_HIDDEN),
}


class Pair(NamedTuple):
    """A native task and its twin."""

    task: NativeTask
    twin: Twin
    tolerance: Tolerance


@pytest.fixture(scope="module", params=list(ROWS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    row = ROWS[request.param]
    if request.param == "mnist-cnn":
        request.getfixturevalue("mnist")
    task = row.make_task(tmp_path_factory.mktemp("pictures"))
    made = {name: tuple(value.shape) for name, value in task.make_model().named_parameters()}
    assert made == {name: value.shape for name, value in task.first(1).items()}
    return Pair(task, Twin(task), row.tolerance)


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


def gaps_of_updates(task: NativeTask, twin: Twin, seeds: tuple[int, ...]) -> tuple[list[float], list[float]]:
    """How far the updates of all devices are apart, and their losses."""
    gaps, losses = [], []
    for seed in seeds:
        for device in range(DEVICES):
            (native, native_loss), (update, loss) = task.update(seed, device), twin.update(seed, device)
            gaps.append(apart(flat(native), flat(update)))
            losses.append(abs(loss - native_loss) / native_loss)
    return gaps, losses


def models_by_round(work: Any, task: NativeTask, folder: Path) -> Iterator[ff.Run]:
    """A run of ten rounds, interrupted and resumed after each, so that the model of every round can be seen."""
    plan = ff.plan(task.fleet, bandwidth_mbps=100, variance=0.3)
    for _ in range(ROUNDS):
        yield ff.simulate(
            work,
            fleet=task.fleet,
            plan=plan,
            # No run reaches the target, so that both have all rounds.
            stop=ff.Stop("accuracy", at=1.0),
            seed=RUN_SEED,
            preset="paper",
            bandwidth_mbps=100,
            record={"evaluate_every": 1, "checkpoint_secs": 0},
            out=folder,
            resume=True,
            callbacks=[lambda record: True],
            progress=False,
        )


def test_batches_are_those_of_the_native_kernels(pair: Pair) -> None:
    for round, device in [(1, 0), (7, 3), (40, 9)]:
        ours = _fedflip.batch_indices(5, round, device, pair.twin.samples(device), BATCH, STEPS)
        np.testing.assert_array_equal(ours, pair.task.batches(ff.TrainKey(5, round, device)))


def test_updates_follow_the_native_kernels(pair: Pair) -> None:
    gaps, losses = gaps_of_updates(pair.task, pair.twin, seeds=(1, 2))
    assert np.median(gaps) < pair.tolerance.middle, gaps
    assert max(gaps) < pair.tolerance.farthest, gaps
    assert max(losses) < 1e-5, losses


def test_the_kernels_are_as_exact_as_torch(pair: Pair) -> None:
    """The distance is rounding: in float64 the truth lies about as far from the native update as from torch's."""
    native_gaps, torch_gaps = [], []
    for device in range(3):
        exact = pair.twin.update_in_float64(1, device)
        native_gaps.append(apart(exact, flat(pair.task.update(1, device)[0])))
        torch_gaps.append(apart(exact, flat(pair.twin.update(1, device)[0])))
    assert np.median(native_gaps) < 3 * np.median(torch_gaps), (native_gaps, torch_gaps)


def test_another_order_of_samples_is_found(pair: Pair) -> None:
    """The tolerance is small enough: another round has other batches, and its update is far away."""
    native = flat(pair.task.update(1, 0)[0])
    update, _ = pair.twin.train(pair.twin.initial(1), ff.TrainKey(1, 2, 0))
    assert apart(native, flat(pair.twin.named(update))) > 3 * pair.tolerance.farthest


def test_a_learning_rate_that_is_wrong_by_one_percent_is_found(pair: Pair, tmp_path: Path) -> None:
    """Every update and the first round are outside of the tolerances."""
    wrong = Twin(pair.task, lr_factor=1.01)
    gaps, _ = gaps_of_updates(pair.task, wrong, seeds=(1,))
    assert min(gaps) > pair.tolerance.farthest, gaps
    first = flat(pair.task.first(RUN_SEED))
    native = flat(next(models_by_round(pair.task.scenario, pair.task, tmp_path / "native")).model)
    moved = flat(wrong.named(next(models_by_round(wrong, pair.task, tmp_path / "torch")).model))
    assert apart(native - first, moved - first) > pair.tolerance.after_round


def test_runs_follow_each_other(pair: Pair, tmp_path: Path) -> None:
    """Ten rounds with the same plan: the same cohorts and times, and models that stay together after every round."""
    first = flat(pair.task.first(RUN_SEED))
    native_runs = models_by_round(pair.task.scenario, pair.task, tmp_path / "native")
    runs = models_by_round(pair.twin, pair.task, tmp_path / "torch")
    gaps, parameters = [], []
    for native, run in zip(native_runs, runs, strict=True):
        expected, model = flat(native.model), flat(pair.twin.named(run.model))
        gaps.append(apart(expected - first, model - first))
        parameters.append(float(np.abs(expected - model).max()))
    assert max(gaps) < pair.tolerance.after_round, gaps
    assert max(parameters) < pair.tolerance.parameter, parameters
    assert len(native) == len(run) == ROUNDS
    for column in ("round", "device"):
        np.testing.assert_array_equal(native.participants[column], run.participants[column])
    np.testing.assert_allclose(native.rounds["round_secs"], run.rounds["round_secs"], rtol=1e-12)
    np.testing.assert_allclose(native.evaluations["loss"], run.evaluations["loss"], rtol=pair.tolerance.loss)
    # Two test samples may lie on the border between two classes.
    np.testing.assert_allclose(native.evaluations["accuracy"], run.evaluations["accuracy"], atol=4e-3)
