"""The seam between fedflip and any code that trains a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from fedflip._key import TrainKey

__all__ = ["Learner"]


@runtime_checkable
class Learner(Protocol):
    """Anything that trains a model on the data of many devices. A class needs these members, and no base class.

    A model is one flat float32 array, or a dict of float32 arrays by name. ``initial`` decides which. ``train`` and
    ``evaluate`` get the model in the same form, read-only, and ``train`` returns an update in the same form.

    ``train`` is a pure function of the model and the key: equal arguments give equal bytes, in any order of calls and
    in any process. ``fedflip.check_learner`` tests this.

    A learner may also have these attributes and methods:

    - ``loss(model, device) -> float``: the mean loss on the samples of a device, for schemes that choose devices by it.
    - ``metrics``: a mapping from the names that ``evaluate`` returns to ``"max"`` or ``"min"``, the headline first.
      Without it, fedflip evaluates the first model to learn the names, and guesses the directions from them. A metric that
      a ``Stop`` names needs one of these: this attribute, a word in its name such as loss or accuracy, or the mode of the stop.
    - ``tensors() -> list[tuple[str, tuple[int, ...]]]``: names and shapes of the tensors in a flat model, sorted by name.
    - ``relative_cost(device) -> int``: how long training on a device takes, in any unit. Long trainings begin first.
    - ``close()``: called when a run ends.

    Examples:
        >>> import numpy as np
        >>> class Mean:
        ...     devices = 3
        ...     def samples(self, device):
        ...         return 1
        ...     def initial(self, seed):
        ...         return np.zeros(2, np.float32)
        ...     def train(self, model, key):
        ...         update = 0.1 * key.rate_factor * (np.float32(key.device) - model)
        ...         return update.astype(np.float32), float(np.square(key.device - model).mean())
        ...     def evaluate(self, model):
        ...         return {"loss": float(np.square(1 - model).mean())}
        >>> isinstance(Mean(), Learner)
        True
    """

    @property
    def devices(self) -> int:
        """The number of devices that hold data."""
        ...

    def samples(self, device: int) -> int:
        """The number of samples that a device holds."""
        ...

    def initial(self, seed: int) -> Any:
        """The model before the first round: a flat float32 array, or a mapping from names to float32 arrays."""
        ...

    def train(self, model: Any, key: TrainKey) -> tuple[Any, float]:
        """Trains on one device from ``model``; returns local model − ``model``, and the mean loss of the steps."""
        ...

    def evaluate(self, model: Any) -> Mapping[str, float | tuple[float, float]]:
        """Metrics of a model on test data: each a value, or a sum and the weight that divides it."""
        ...
