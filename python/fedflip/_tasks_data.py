"""The data and the network of a task as numpy arrays."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count
from fedflip._errors import InputError

__all__ = ["TaskData"]

Samples = tuple[npt.NDArray[np.float32], npt.NDArray[Any]]


@final
class TaskData:
    """A task with the data of its devices, ready to train.

    A twin of the task in another library starts from :meth:`initial`, trains on the samples of :meth:`device` in the
    order of :meth:`batches`, and can be compared with :meth:`train`, which runs the native kernels.
    """

    __slots__ = ("_native",)

    _native: _fedflip.TaskData

    def __init__(self) -> None:
        raise TypeError("make the data of a task with fedflip.tasks.load(name, …)")

    @classmethod
    def _of(cls, native: _fedflip.TaskData) -> TaskData:
        made = object.__new__(cls)
        made._native = native
        return made

    @property
    def name(self) -> str:
        """The name of the task."""
        return self._native.name

    @property
    def devices(self) -> int:
        """How many devices share the data."""
        return self._native.devices

    @property
    def samples(self) -> npt.NDArray[np.int64]:
        """The number of training samples of each device."""
        return self._native.samples

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Height, width and channels of a picture, or the length of a sample: ``features.reshape(-1, *shape)``."""
        return tuple(self._native.sample_shape)

    @property
    def classes(self) -> int | None:
        """The number of classes; None for a regression."""
        return self._native.classes

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of an evaluation, the most important one first."""
        return tuple(self._native.metrics)

    @property
    def learning_rate(self) -> float:
        """The learning rate of local SGD."""
        return self._native.learning_rate

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the network's arrays by name, in the order of the flat vector and in PyTorch's layout."""
        return {name: tuple(shape) for name, shape, _ in self._native.parameters}

    @property
    def trained(self) -> dict[str, bool]:
        """Whether SGD moves each array; running statistics are not moved by SGD."""
        return {name: is_trained for name, _, is_trained in self._native.parameters}

    def device(self, device: int) -> Samples:
        """The training samples of a device, one a row, and their labels."""
        return self._labelled(*self._native.device(count("device", device)))

    def test(self) -> Samples:
        """The samples on which models are evaluated, one a row, and their labels."""
        return self._labelled(*self._native.test())

    def _labelled(self, features: npt.NDArray[np.float32], labels: npt.NDArray[np.float32]) -> Samples:
        return features, labels if self.classes is None else labels.astype(np.int64)

    def initial(self, *, seed: int) -> dict[str, npt.NDArray[np.float32]]:
        """The arrays of the model before the first round of a run with this seed, by name."""
        return self.split(self.initial_vector(seed=seed))

    def initial_vector(self, *, seed: int) -> npt.NDArray[np.float32]:
        """The same as one flat vector."""
        return self._native.initial(count("seed", seed))

    def split(self, model: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """The arrays of a flat vector by name, as views of it."""
        model = self._flat(model)
        shapes = self.parameters
        wanted = sum(int(np.prod(shape)) for shape in shapes.values())
        if model.shape != (wanted,):
            raise InputError(
                f"model: it has the shape {model.shape}, and the network has {wanted} parameters",
                where="model",
                value=model.shape,
                remedy="give a flat vector of all parameters",
            )
        arrays, start = {}, 0
        for name, shape in shapes.items():
            end = start + int(np.prod(shape))
            arrays[name] = model[start:end].reshape(shape)
            start = end
        return arrays

    def batches(self, *, seed: int, round: int, device: int) -> list[npt.NDArray[np.int64]]:
        """The batches of a local training, as positions among the samples of the device.

        Args:
            seed: The seed of the run.
            round: The round, counted from 1.
            device: The position of the device in the fleet.
        """
        return self._native.batches(count("seed", seed), count("round", round), count("device", device))

    def train(
        self, model: npt.NDArray[np.float32], *, seed: int, round: int, device: int
    ) -> tuple[npt.NDArray[np.float32], float]:
        """Trains on a device with the native kernels: the update, local model − model, and the mean loss."""
        key = (count("seed", seed), count("round", round), count("device", device))
        return self._native.train(self._flat(model), key)

    def evaluate(self, model: npt.NDArray[np.float32]) -> dict[str, float]:
        """The metrics of a model on the test samples, by the native kernels."""
        return dict(self._native.evaluate(self._flat(model)))

    @staticmethod
    def _flat(model: Any) -> npt.NDArray[np.float32]:
        array = np.asarray(model)
        if array.ndim != 1 or array.dtype != np.float32:
            raise InputError(
                f"model: an array of {array.dtype} with the shape {array.shape} is not a flat vector of float32",
                where="model",
                value=array.shape,
                remedy="give a flat float32 vector of all parameters, such as that of initial_vector()",
            )
        return array

    def __repr__(self) -> str:
        samples = self.samples
        parameters = sum(int(np.prod(shape)) for shape in self.parameters.values())
        return (
            f"TaskData({self.name}: {self.devices} devices with {samples.min()} to {samples.max()} samples, "
            f"{parameters} parameters)"
        )
