"""The samples of one device as batches of tensors, without a call of the data set for each sample where possible."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset, Subset, TensorDataset, default_collate

from fedflip._torch_context import drawn_states, has_drawn

__all__ = ["Samples", "moved", "opened", "size_of"]

Collate = Callable[[list[Any]], Any]

#: Samples of several batches are gathered at once up to this number of bytes.
_GATHERED = 32 << 20


class Samples:
    """The samples of a data set, fetched one by one and put together by ``collate``."""

    #: The bytes that are kept here and not in the data set.
    own_bytes: float = 0
    #: The bytes of all samples, as far as they are known.
    nbytes: float = math.inf

    def __init__(self, dataset: Any, collate: Collate | None) -> None:
        self._dataset = dataset
        self._collate: Collate = collate or default_collate

    def batches(self, picks: Sequence[npt.NDArray[np.int64]]) -> Iterator[Any]:
        """The batches whose samples have these positions."""
        for batch in picks:
            yield self._collate(fetched(self._dataset, batch.tolist()))


class TensorSamples(Samples):
    """Samples that are rows of tensors.

    Args:
        tensors: A structure of lists and dicts with tensors in it. All have one row for each sample.
        rows: The rows of the samples, if they are not all rows in their order.
    """

    def __init__(self, tensors: Any, rows: torch.Tensor | None = None) -> None:
        self._tensors = tensors
        self._rows = rows
        self.nbytes = size_of(tensors)

    def batches(self, picks: Sequence[npt.NDArray[np.int64]]) -> Iterator[Any]:
        at_once = max(
            1, _GATHERED // max(1, size_of(self._tensors, rows=True) * max(map(len, picks), default=1))
        )
        for first in range(0, len(picks), at_once):
            group = picks[first : first + at_once]
            sizes = [len(batch) for batch in group]
            rows = torch.from_numpy(np.ascontiguousarray(np.concatenate(group)))
            if self._rows is not None:
                rows = self._rows[rows]
            gathered = _mapped(
                lambda tensor: tensor.index_select(0, rows.to(tensor.device)).split(sizes),
                self._tensors,
            )
            for number in range(len(group)):
                yield _mapped(operator.itemgetter(number), gathered)


def opened(dataset: Dataset[Any], samples: int, collate: Collate | None, bytes_max: float) -> Samples:
    """The samples of a data set in the fastest form that gives the same batches.

    A ``TensorDataset``, or a ``Subset`` of one, is indexed as it is. Other data sets are fetched once and kept, if this
    takes at most ``bytes_max`` bytes, and if fetching draws no random numbers. Random augmentation is therefore drawn
    anew in every training. With a bound of 0, nothing is fetched here.
    """
    if collate is not None:
        return Samples(dataset, collate)
    known = _tensors_of(dataset)
    if known is not None:
        return TensorSamples(*known)
    kept = _fetched_once(dataset, samples, bytes_max) if samples and bytes_max > 0 else None
    if kept is None:
        return Samples(dataset, collate)
    tensors = TensorSamples(kept)
    tensors.own_bytes = size_of(kept)
    return tensors


def fetched(dataset: Any, positions: list[int]) -> list[Any]:
    """Samples of a map-style data set."""
    several = getattr(dataset, "__getitems__", None)
    return list(several(positions)) if callable(several) else [dataset[position] for position in positions]


def size_of(batch: Any, rows: bool = False) -> int:
    """The bytes of the tensors in a structure, all of them or those of one row."""
    if isinstance(batch, torch.Tensor):
        return batch.nbytes // max(1, len(batch)) if rows else batch.nbytes
    if isinstance(batch, dict):
        return sum(size_of(part, rows) for part in batch.values())
    return sum(size_of(part, rows) for part in batch) if isinstance(batch, (list, tuple)) else 0


def moved(batch: Any, device: torch.device) -> Any:
    """A batch with its tensors on a device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {name: moved(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(moved(part, device) for part in batch))
    return type(batch)(moved(part, device) for part in batch) if isinstance(batch, (list, tuple)) else batch


def _tensors_of(dataset: Any) -> tuple[Any, torch.Tensor | None] | None:
    """The tensors of a data set that is nothing else, and the rows of its samples."""
    # A class of its own may do more than index.
    if type(dataset) is TensorDataset:
        return list(dataset.tensors), None
    if type(dataset) is Subset:
        inner = _tensors_of(dataset.dataset)
        if inner is not None:
            tensors, rows = inner
            own = torch.as_tensor(np.asarray(dataset.indices, np.int64))
            return tensors, own if rows is None else rows[own]
    return None


def _fetched_once(dataset: Any, samples: int, bytes_max: float) -> Any:
    """All samples as tensors; None if they are too large, random or not tensors."""
    before = drawn_states()
    first = default_collate(fetched(dataset, [0]))
    if size_of(first) * samples > bytes_max or not _is_tensors(first, 1):
        return None
    # Most data sets that are random show it in one sample, before all others are fetched in vain.
    again = default_collate(fetched(dataset, [0]))
    if has_drawn(before) or not _equal(first, again):
        return None
    try:
        kept = default_collate(fetched(dataset, list(range(samples))))
    except RuntimeError:
        # Samples of different lengths cannot be rows of one tensor.
        return None
    if has_drawn(before) or not _is_tensors(kept, samples):
        return None
    return kept if _equal(first, _mapped(lambda tensor: tensor[:1], kept)) else None


def _is_tensors(batch: Any, rows: int) -> bool:
    if isinstance(batch, torch.Tensor):
        return batch.ndim > 0 and len(batch) == rows
    parts = list(batch.values()) if type(batch) is dict else batch if type(batch) is list else []
    return bool(parts) and all(_is_tensors(part, rows) for part in parts)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one.nan_to_num(), other.nan_to_num())
    pairs = (
        zip(one.values(), other.values(), strict=False)
        if isinstance(one, dict)
        else zip(one, other, strict=False)
    )
    return all(_equal(*pair) for pair in pairs)


def _mapped(function: Callable[[Any], Any], tensors: Any) -> Any:
    if isinstance(tensors, dict):
        return {name: _mapped(function, part) for name, part in tensors.items()}
    return [_mapped(function, part) for part in tensors] if isinstance(tensors, list) else function(tensors)
