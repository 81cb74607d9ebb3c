"""The key of one local training, and how its seed reaches numpy and torch."""

from __future__ import annotations

import random
from hashlib import blake2b
from struct import Struct, error
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedflip._arguments import instance, shown, text
from fedflip._errors import InputError

if TYPE_CHECKING:
    import torch

__all__ = ["TrainKey", "seed_torch"]

_PACKED = Struct("<8sQQQ")
_FORMAT = b"fedflip1"


class TrainKey(NamedTuple):
    """The key of one local training: together with the model it determines the update to the byte.

    A learner takes all its random numbers from the key, never from the system, the clock or numbers that an earlier
    training left behind.

    Attributes:
        seed: The seed of the run.
        round: The round, counted from 1.
        device: The position of the device in the fleet, counted from 0.
        rate_factor: The factor of this device's learning rate: 1, except under schemes that put the aggregation
            weight there. It does not change the seeds below.

    Examples:
        >>> key = TrainKey(seed=7, round=3, device=5)
        >>> key.stream_seed()
        13542429816291448898
        >>> key.numpy_generator().integers(1000, size=3).tolist()
        [623, 337, 699]
    """

    seed: int
    round: int
    device: int
    rate_factor: float = 1.0

    def stream_seed(self, purpose: str = "train") -> int:
        """A seed of 64 bits that depends on the seed of the run, the round, the device and a purpose.

        The value is part of the format of a run: ``blake2b`` with a digest of 8 bytes, read as a little-endian number,
        over these bytes: ``b"fedflip1"``; seed, round and device, each as 8 little-endian bytes; the purpose in UTF-8.

        Args:
            purpose: A name for the use of the numbers. Two purposes do not share numbers.

        Returns:
            A whole number from 0 to 2**64 − 1.
        """
        try:
            packed = _PACKED.pack(_FORMAT, self.seed, self.round, self.device)
        except error:
            raise InputError(
                f"seed, round and device of a key must be whole numbers from 0 to 2**64 - 1, but they are {self}",
                where="key",
                value=tuple(self),
                remedy="use TrainKey(seed=1, round=1, device=0) with numbers in this range",
            ) from None
        named = text("purpose", purpose).encode()
        return int.from_bytes(blake2b(packed + named, digest_size=8).digest(), "little")

    def numpy_generator(self, purpose: str = "train") -> np.random.Generator:
        """A new numpy generator: ``Generator(PCG64(key.stream_seed(purpose)))``."""
        return np.random.Generator(np.random.PCG64(self.stream_seed(purpose)))

    def torch_generator(self, device: Any = "cpu", purpose: str = "train") -> torch.Generator:
        """A new torch generator whose seed is ``key.stream_seed(purpose)``.

        torch's generator of the CPU uses the lower 32 bits of a seed.

        Args:
            device: The torch device on which numbers are drawn.
            purpose: A name for the use of the numbers.
        """
        import torch

        seed = self.stream_seed(purpose)
        try:
            return torch.Generator(device).manual_seed(seed)
        except (RuntimeError, TypeError) as error:
            remedy = "give a device that torch has here, such as 'cpu' or 'cuda:0'"
            problem = f"device: {shown(device)} has no generator: {str(error).splitlines()[0]}"
            raise InputError(problem, where="device", value=device, remedy=remedy) from None


def seed_torch(key: TrainKey, purpose: str = "train") -> torch.Generator:
    """Seeds everything that torch code usually draws from, and returns a generator with the same seed.

    This is the one way by which the seed of a run reaches torch. With ``s = key.stream_seed(purpose)`` the function seeds
    torch's global generators of the CPU and of all CUDA devices with ``s``, and calls ``random.seed(s)`` and
    ``numpy.random.seed(s % 2**32)``. Layers such as dropout draw from these generators.

    Call the function first in ``train`` of a learner of your own. ``TorchLearner`` calls it for every training, and
    gives the global generators their former state back afterwards.

    Args:
        key: The key of the training.
        purpose: A name for the use of the numbers.

    Returns:
        A generator of the CPU, for functions that take one.
    """
    import torch

    remedy = "give the key that train got, or TrainKey(seed=1, round=1, device=0)"
    seed = instance("key", key, TrainKey, "a TrainKey", remedy=remedy).stream_seed(purpose)
    # torch.manual_seed formats a stack trace on machines without a GPU, which takes 0.4 ms.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFF_FFFF)
    return torch.Generator().manual_seed(seed)
