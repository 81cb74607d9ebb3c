"""Memory that the processes of a crew share: a few models, and the updates that come back."""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile

import numpy as np

from fedflip._learner_layout import Array

__all__ = ["SharedMemory", "anonymous_file", "not_standard"]

_PAGE = 4096


def anonymous_file(size: int) -> int:
    """A file in memory without a name, as a descriptor that is none of the three standard streams.

    Nothing can be left behind: the memory is free as soon as the last process that has the descriptor is gone, however
    it ends. The file is not part of /dev/shm either, which containers often limit to 64 MB.
    """
    try:
        descriptor = os.memfd_create("fedflip", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        # Not Linux, or forbidden here: a file that has no name is as good.
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    descriptor = not_standard(descriptor)
    os.ftruncate(descriptor, max(1, size))
    return descriptor


def not_standard(descriptor: int) -> int:
    """The descriptor, or a copy in its place if it has the number of a standard stream.

    A process whose standard input is closed gets such numbers, and a child would have the stream in their place.
    """
    if descriptor > 2:
        return descriptor
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return copy


class SharedMemory:
    """Rows for models, and rows for updates, all of the same length. Rows that nobody writes take no memory.

    Args:
        size: The number of parameters of a model.
        models: The number of rows for models.
        updates: The number of rows for updates.
        descriptor: The file that another process made with the same numbers; None makes a new one.
    """

    def __init__(self, size: int, models: int, updates: int, descriptor: int | None = None) -> None:
        self.shape = (size, models, updates)
        row = -(-4 * size // _PAGE) * _PAGE
        length = row * (models + updates)
        self.descriptor = anonymous_file(length) if descriptor is None else descriptor
        memory = mmap.mmap(self.descriptor, length)
        rows: list[Array] = [
            np.frombuffer(memory, np.float32, size, row * number) for number in range(models + updates)
        ]
        self.models, self.updates = rows[:models], rows[models:]

    def close(self) -> None:
        """Gives the memory back as soon as no array refers to it."""
        self.models, self.updates = [], []
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
