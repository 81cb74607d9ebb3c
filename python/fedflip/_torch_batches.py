"""The samples of each batch, drawn as the native kernels draw them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip

__all__ = ["batch_indices", "batch_indices_epochs"]

Indices = npt.NDArray[np.int64]


def batch_indices(seed: int, round: int, device: int, samples: int, batch: int, steps: int) -> Indices:
    """The positions of the samples in each batch of a training, of shape (steps, batch).

    Native tasks draw the same batches for the same key. Passes through the samples, each in an order of its own, are cut
    into batches; one batch may hold the end of a pass and the beginning of the next one.

    Examples:
        >>> batch_indices(seed=7, round=3, device=5, samples=4, batch=3, steps=2).tolist()
        [[1, 0, 3], [2, 2, 1]]
    """
    return _fedflip.batch_indices(seed, round, device, samples, batch, steps)


def batch_indices_epochs(
    seed: int, round: int, device: int, samples: int, batch: int, epochs: int
) -> list[Indices]:
    """The positions of the samples in each batch of whole passes. Only the last batch may be smaller."""
    total = epochs * samples
    drawn = _fedflip.batch_indices(seed, round, device, samples, 1, total)[:, 0]
    return [drawn[first : first + batch] for first in range(0, total, batch)]
