"""The settings of torch under which training is a pure function: seeds, threads and deterministic kernels."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fedflip._key import TrainKey, seed_torch

__all__ = ["drawn_states", "has_drawn", "keyed", "lock"]

#: The settings below belong to the whole process, so one training has them at a time.
lock = threading.RLock()
#: A worker process does nothing else, so it has nothing to restore.
_restores = os.environ.get("FEDFLIP_WORKER") != "1"


@contextmanager
def keyed(key: TrainKey, purpose: str) -> Iterator[None]:
    """Seeds all generators by the key, pins torch to one thread and to deterministic kernels; restores all afterwards.

    Sums depend on the number of threads in their last bits, so every kind of worker uses one. Other threads of the
    process wait: the generators that dropout uses belong to the whole process.
    """
    with lock:
        settings = _Settings() if _restores else None
        states = drawn_states() if _restores else None
        try:
            _pin()
            seed_torch(key, purpose)
            yield
        finally:
            if settings is not None and states is not None:
                _restore_states(states)
                settings.restore()


class _Settings:
    """The settings of the process that training changes."""

    def __init__(self) -> None:
        self.threads = torch.get_num_threads()
        self.deterministic = torch.are_deterministic_algorithms_enabled()
        self.warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        self.fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
        self.benchmark = torch.backends.cudnn.benchmark

    def restore(self) -> None:
        torch.use_deterministic_algorithms(self.deterministic, warn_only=self.warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = self.fill  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = self.benchmark
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)


def _pin() -> None:
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    # A user who asked for errors gets errors: only the default is changed.
    if not torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(True, warn_only=True)
        # Filling new memory takes up to 4 % of a training, and changes no number of code that is right.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    if torch.backends.cudnn.benchmark:
        torch.backends.cudnn.benchmark = False


def drawn_states() -> tuple[Any, ...]:
    """The states of the global generators of torch, random and numpy."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    return torch.get_rng_state(), random.getstate(), np.random.get_state(), cuda


def has_drawn(before: tuple[Any, ...]) -> bool:
    """Whether a global generator was used since its state was taken."""
    after = drawn_states()
    numpy_before, numpy_after = before[2], after[2]
    return (
        not torch.equal(before[0], after[0])
        or before[1] != after[1]
        or not np.array_equal(numpy_before[1], numpy_after[1])
        or numpy_before[2:] != numpy_after[2:]
        or any(not torch.equal(one, other) for one, other in zip(before[3], after[3], strict=False))
    )


def _restore_states(states: tuple[Any, ...]) -> None:
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])
    if states[3]:
        torch.cuda.set_rng_state_all(states[3])
