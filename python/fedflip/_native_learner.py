"""Native tasks as crews see them: a scenario that travels as text, and the kernels that train it in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedflip import _fedflip
from fedflip._key import TrainKey
from fedflip._learner_layout import Array

__all__ = ["NativeLearner", "opener"]


class NativeLearner:
    """A built-in task for workers: the methods that crews call on ``FlatLearner``, done by native kernels.

    The data are read when a method needs them first, so that a process which only sends the learner reads nothing. Native
    code trains with the interpreter released.

    Args:
        text: The scenario of the task, with every key decided.
        fleet: The fleet as CSV, if it comes from a file.
        data_dir: The folder of data sets; by default that of the machine on which the learner works.

    Examples:
        >>> from fedflip import Scenario
        >>> learner = NativeLearner(Scenario("synthetic").to_toml())
        >>> update, loss = learner.train(learner.initial(1), TrainKey(seed=1, round=1, device=0))
        >>> update.shape == (learner.size,)
        True
    """

    def __init__(self, text: str, fleet: bytes | None = None, data_dir: str | None = None) -> None:
        self._made_of = (text, fleet, data_dir)
        #: Native code is not watched: only crews of processes can end it.
        self.timeout_secs: float | None = None
        self._native: _fedflip.NativeLearner | None = None
        self._size: int | None = None

    def __getstate__(self) -> tuple[str, bytes | None, str | None]:
        return self._made_of

    def __setstate__(self, state: tuple[str, bytes | None, str | None]) -> None:
        self._made_of = state
        self.timeout_secs = self._native = self._size = None

    def __repr__(self) -> str:
        return "NativeLearner(…)"

    @property
    def learner(self) -> NativeLearner:
        """The object itself, for messages."""
        return self

    @property
    def native(self) -> _fedflip.NativeLearner:
        """The kernels and the data."""
        if self._native is None:
            self._native = _fedflip.NativeLearner(*self._made_of)
        return self._native

    @property
    def size(self) -> int:
        """The number of parameters of the model."""
        if self._size is None:
            self._size = self.native.size
        return self._size

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.native.devices

    def samples(self, device: int) -> int:
        """The number of samples that a device holds."""
        return self.native.samples(device)

    def relative_cost(self, device: int) -> int:
        """How long training on a device takes, in any unit."""
        return self.native.relative_cost(device)

    def initial(self, seed: int) -> Array:
        """The model before the first round."""
        return self.native.initial(seed)

    def train(self, model: Array, key: TrainKey) -> tuple[Array, float]:
        """The update of one device, and the mean loss of its steps."""
        return self.native.train(model, key)

    def loss(self, model: Array, device: int) -> float:
        """The mean loss of a model on the samples of a device."""
        return self.native.loss(model, device)

    def evaluate(self, model: Array) -> dict[str, tuple[float, float]]:
        """The metrics of a model, each with the weight 1."""
        return {name: (value, 1.0) for name, value in self.native.evaluate(model)}

    @property
    def metrics(self) -> dict[str, str]:
        """The names of the metrics, and whether larger or smaller values are better."""
        return dict(self.native.metrics())

    @property
    def data_dir(self) -> str | None:
        """The folder of data sets; None for that of the machine."""
        return self._made_of[2]

    def data_digest(self) -> str:
        """The digest of all samples of all devices."""
        return self.native.data_digest()

    def close(self) -> None:
        """Gives the data back."""
        self._native = None


def opener(
    crew: Any, data_dir: str | None, timeout_secs: float | None = None
) -> Callable[[str, bytes | None], None]:
    """A function that opens a crew with the learner of a scenario. A crew that has this learner already stays as it is."""
    from fedflip._crew import InlineCrew

    present: list[tuple[str, bytes | None]] = []

    def open(text: str, fleet: bytes | None) -> None:
        if present == [(text, fleet)]:
            return
        present.clear()
        learner = NativeLearner(text, fleet, data_dir)
        learner.timeout_secs = timeout_secs
        crew.open(learner)
        if not isinstance(crew, InlineCrew):
            # Workers have the data now, and the run has read its own.
            learner.close()
        present.append((text, fleet))

    return open
