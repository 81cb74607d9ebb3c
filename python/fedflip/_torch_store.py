"""The samples of all devices: their numbers, and the tensors that a process keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch.utils.data import Dataset

from fedflip._errors import LearnerError
from fedflip._key import TrainKey
from fedflip._torch_context import keyed, lock
from fedflip._torch_data import Collate, Samples, opened

__all__ = ["SampleStore"]


class SampleStore:
    """Opens the data sets of devices and of the test, and keeps tensors in a bounded number of megabytes.

    What is kept does not travel to other processes.

    Args:
        datasets: One data set for each device.
        test: The data set of the test.
        collate: Puts samples together to a batch.
        cache_mb: The bound in megabytes.
    """

    def __init__(
        self,
        datasets: Sequence[Dataset[Any]],
        test: Dataset[Any] | None,
        collate: Collate | None,
        cache_mb: float,
    ) -> None:
        self._datasets, self._test, self._collate, self._cache_mb = datasets, test, collate, cache_mb
        self._forget()

    def _forget(self) -> None:
        #: What is kept, by device; that of the test has no device.
        self.kept: dict[int | None, Samples] = {}
        self.kept_bytes = 0
        # Devices whose samples cannot be kept: they are random, or larger than what was left.
        self._not_kept: set[int | None] = set()
        self._counts: dict[int, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        process = ("kept", "kept_bytes", "_not_kept", "_counts")
        return {name: value for name, value in self.__dict__.items() if name not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __len__(self) -> int:
        return len(self._datasets)

    def count(self, device: int) -> int:
        """The number of samples of a device."""
        if device not in self._counts:
            self._counts[device] = len(cast(Any, self._datasets[device]))
        return self._counts[device]

    def count_at_least_one(self, device: int) -> int:
        """The number of samples of a device that is to train.

        Raises:
            LearnerError: If it has none.
        """
        count = self.count(device)
        if count == 0:
            raise LearnerError(
                f"device {device} holds no samples",
                device=device,
                remedy="give every device at least one sample",
            )
        return count

    @property
    def test_count(self) -> int | None:
        """The number of samples of the test; None if there is no test."""
        return None if self._test is None else len(cast(Any, self._test))

    def samples(self, device: int | None) -> Samples:
        """The samples of a device, or those of the test; the fastest form of them is kept."""
        with lock:
            if device in self.kept:
                return self.kept[device]
            dataset = cast(Any, self._test if device is None else self._datasets[device])
            left = 0.0 if device in self._not_kept else self._cache_mb * 1e6 - self.kept_bytes
            count = len(dataset)
            if device is not None:
                self._counts[device] = count
            with keyed(TrainKey(0, 0, device or 0), "cache"):
                samples = opened(dataset, count, self._collate, left)
            # A sequence that loads lazily makes data sets that nobody else keeps.
            lazy = device is not None and not isinstance(self._datasets, (list, tuple))
            taken = samples.nbytes if lazy else samples.own_bytes
            if taken <= left:
                self.kept[device] = samples
                self.kept_bytes += int(taken)
            else:
                self._not_kept.add(device)
            return samples
