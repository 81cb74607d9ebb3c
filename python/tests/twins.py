"""Native tasks, and their twins in torch: the same networks, samples, first models and batches.

The module imports torch: a test asks for it with ``pytest.importorskip("torch")`` before it imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import fedflip as ff
import numpy as np
import numpy.typing as npt
import torch
from native_batches import drawn_here
from torch import nn
from torch.utils.data import TensorDataset

Array = npt.NDArray[Any]
Named = dict[str, Array]

DEVICES, TEST_SAMPLES = 10, 1000
STEPS, BATCH = 10, 32


def flat(named: Mapping[str, Array]) -> Array:
    """All numbers of a model or an update, in the order of the names."""
    return np.concatenate([named[name].ravel() for name in sorted(named)])


class NativeTask(Protocol):
    """A task as the native kernels have it."""

    make_model: Callable[[], Any]
    scenario: ff.Scenario
    fleet: ff.Fleet
    sample_shape: tuple[int, ...]
    learning_rate: float

    def device(self, device: int) -> tuple[Array, Array]:
        """The samples of a device and their labels."""

    def test(self) -> tuple[Array, Array]:
        """The samples of evaluations and their labels."""

    def first(self, seed: int) -> Named:
        """The first model."""

    def batches(self, key: ff.TrainKey) -> Array:
        """The samples of each step, as positions."""

    def update(self, seed: int, device: int) -> tuple[Named, float]:
        """The update of a device in round 1, and its mean loss."""


class BuiltIn:
    """A built-in task: ``tasks.load`` has everything."""

    def __init__(self, name: str, make_model: Callable[[], Any], **parameters: Any) -> None:
        self.make_model = make_model
        self.data = ff.tasks.load(name, devices=DEVICES, test_samples_max=TEST_SAMPLES, **parameters)
        self.scenario = ff.Scenario(name, data={"test_samples_max": TEST_SAMPLES}, task=parameters)
        self.fleet = ff.Fleet({**ff.Fleet.paper(DEVICES, seed=7).columns(), "samples": self.data.samples})
        self.sample_shape, self.learning_rate = self.data.sample_shape, self.data.learning_rate

    def device(self, device: int) -> tuple[Array, Array]:
        return self.data.device(device)

    def test(self) -> tuple[Array, Array]:
        return self.data.test()

    def first(self, seed: int) -> Named:
        return self.data.initial(seed=seed)

    def batches(self, key: ff.TrainKey) -> Array:
        return np.array(self.data.batches(seed=key.seed, round=key.round, device=key.device))

    def update(self, seed: int, device: int) -> tuple[Named, float]:
        first = self.data.initial_vector(seed=seed)
        update, loss = self.data.train(first, seed=seed, round=1, device=device)
        return self.data.split(update), loss


class OwnPictures:
    """Synthetic pictures in files, and the task ``own`` on them.

    ``tasks.load`` does not read files of the user's own, so that all numbers come from runs of one round. A round without devices
    leaves the first model as it is. A round with one device, whose update has the weight 1, adds this update to it.
    """

    sample_shape, learning_rate = (28, 28, 1), 0.01

    def __init__(self, folder: Path, make_model: Callable[[], Any], **parameters: Any) -> None:
        self.make_model = make_model
        self._firsts: dict[int, Named] = {}
        generator = np.random.default_rng(5)
        patterns = generator.normal(size=(10, 7, 7)).repeat(4, axis=1).repeat(4, axis=2)

        def pictures(samples: int, class_shares: Array) -> tuple[Array, Array]:
            labels = generator.choice(10, size=samples, p=class_shares)
            noise = generator.normal(size=(samples, 28, 28))
            return (patterns[labels] / 2 + noise).astype(np.float32), labels

        # The classes of devices differ, and the batch divides no number of samples.
        mixes = generator.dirichlet(np.full(10, 0.8), size=DEVICES)
        self._shards = [pictures(45 + 12 * device, mix) for device, mix in enumerate(mixes)]
        self._test = pictures(TEST_SAMPLES // 2, np.full(10, 0.1))
        samples = [len(labels) for _, labels in self._shards]
        self.fleet = ff.Fleet({**ff.Fleet.paper(DEVICES, seed=7).columns(), "samples": samples})
        x, y = (np.concatenate(parts) for parts in zip(*self._shards, strict=True))
        np.savez(folder / "train.npz", x=x, y=y, device=np.repeat(self.fleet.names, samples))
        np.savez(folder / "test.npz", x=self._test[0], y=self._test[1])
        files = {"train": str(folder / "train.npz"), "test": str(folder / "test.npz")}
        # Without a normalisation, torch gets the same numbers as the native kernels.
        data = {**files, "mean": 0.0, "std": 1.0}
        train = {"learning_rate": self.learning_rate, "iterations": STEPS, "batch": BATCH}
        self.scenario = ff.Scenario("own", task=parameters, data=data, train=train)

    def device(self, device: int) -> tuple[Array, Array]:
        return self._shards[device]

    def test(self) -> tuple[Array, Array]:
        return self._test

    def first(self, seed: int) -> Named:
        if seed not in self._firsts:
            self._firsts[seed] = self._after_one_round(seed, []).model
        return self._firsts[seed]

    def batches(self, key: ff.TrainKey) -> Array:
        samples = len(self._shards[key.device][1])
        return drawn_here(key.seed, key.round, key.device, samples, BATCH, STEPS)

    def update(self, seed: int, device: int) -> tuple[Named, float]:
        first, run = self.first(seed), self._after_one_round(seed, [device])
        update = {name: value - first[name] for name, value in run.model.items()}
        return update, float(run.rounds["train_loss"][-1])

    def _after_one_round(self, seed: int, cohort: list[int]) -> ff.Run:
        scheme = ff.Scheme(lambda round, seed, fleet: (cohort, [1.0] * len(cohort)), name="chosen")
        shared: dict[str, Any] = {"preset": "paper", "rounds_max": 1, "progress": False}
        return ff.simulate(self.scenario, fleet=self.fleet, plan=scheme, seed=seed, **shared)


class Twin(ff.TorchLearner):
    """A learner of torch that begins with the native task's first model."""

    def __init__(self, task: NativeTask, lr_factor: float = 1.0) -> None:
        self.task = task
        super().__init__(
            task.make_model,
            [self.tensors_of(*task.device(device)) for device in range(DEVICES)],
            nn.CrossEntropyLoss(),
            steps=STEPS,
            batch=BATCH,
            lr=lr_factor * task.learning_rate,
            test=self.tensors_of(*task.test()),
        )

    def tensors_of(self, features: Array, labels: Array) -> Any:
        shape = self.task.sample_shape
        if len(shape) == 3:
            # Height, width and channels become channels, height and width.
            features = np.ascontiguousarray(features.reshape(-1, *shape).transpose(0, 3, 1, 2))
        return TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))

    def initial(self, seed: int) -> Any:
        return self.model_of(self.task.first(seed))

    def named(self, model: Any) -> Named:
        """A model or an update with the names of the native parameters."""
        return {name: value.numpy() for name, value in self.state_dict(model).items()}

    def update(self, seed: int, device: int) -> tuple[Named, float]:
        """The update of a device in round 1, and its mean loss."""
        update, loss = self.train(self.initial(seed), ff.TrainKey(seed, 1, device))
        return self.named(update), loss

    def update_in_float64(self, seed: int, device: int) -> Array:
        """The same update in float64: a plain loop over the same batches."""
        module = self.task.make_model()
        first = {name: torch.from_numpy(np.float64(value)) for name, value in self.task.first(seed).items()}
        module.double().load_state_dict(first)
        features, labels = self.tensors_of(*self.task.device(device)).tensors
        for rows in self.task.batches(ff.TrainKey(seed, 1, device)):
            module.zero_grad()
            nn.functional.cross_entropy(module(features[rows].double()), labels[rows]).backward()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter -= self.task.learning_rate * parameter.grad
        return flat(
            {name: (value.detach() - first[name]).numpy() for name, value in module.named_parameters()}
        )
