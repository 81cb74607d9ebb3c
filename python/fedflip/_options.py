"""The arguments of simulated runs that change no result: workers, folders and spectators."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fedflip import _fedflip
from fedflip._arguments import count, flag, path_text
from fedflip._errors import InputError
from fedflip._observe import Watch, checked_callbacks

__all__ = ["Options", "checked_threads"]

_THREADS_MAX = 4096


def checked_threads(threads: Any) -> int | None:
    """A number of threads; None for as many as the machine has processors."""
    remedy = "leave threads out to use all processors"
    return count("threads", threads, optional=True, least=1, most=_THREADS_MAX, remedy=remedy)


class Options:
    """The arguments, checked before anything runs.

    Attributes:
        threads: The number of threads, or of worker processes.
        out: The folder; None without one.
        data_dir: The folder of data sets; None for that of the user.
    """

    def __init__(
        self, *, threads: Any, out: Any, resume: Any, callbacks: Any, progress: Any, data_dir: Any
    ) -> None:
        self.threads = checked_threads(threads)
        folder = path_text("out", out, optional=True)
        # Code of the caller may change the present folder while a run is in progress.
        self.out = None if folder is None else os.path.abspath(folder)
        self._resume = flag("resume", resume)
        if self._resume and folder is None:
            raise InputError("resume needs a folder", where="resume", value=True, remedy="add out=FOLDER")
        self.data_dir = path_text("data_dir", data_dir, optional=True)
        self._callbacks = checked_callbacks(callbacks)
        self._progress = flag("progress", progress)

    @contextmanager
    def watched(self) -> Iterator[_fedflip.Options]:
        """The options for the native code, while a progress bar is shown."""
        with Watch(self._callbacks, self._progress) as watch:
            yield _fedflip.Options(watch, self.threads, self.data_dir, self.out, self._resume)
