"""Calls of a learner with a time limit, without a process of their own."""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["HungError", "Watch"]


class HungError(Exception):
    """A call took longer than its limit, and was abandoned."""


class _Abandoned(BaseException):
    """Raised inside an abandoned call, so that it ends if it still runs Python code."""


class Watch:
    """Runs calls one after the other on a helper thread, and stops waiting for one after a time limit.

    Python cannot stop a thread. An abandoned call gets an exception at its next step of Python code; native code that
    never returns keeps its thread until the process ends. Worker processes do not have this limit: a process can be killed.

    Args:
        secs: The time limit of one call.
    """

    def __init__(self, secs: float) -> None:
        self.secs = secs
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] | None = None
        self._answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], Any]) -> Any:
        """The result of the call.

        Raises:
            HungError: If the call takes longer than the limit.
            BaseException: What the call raises.
        """
        if self._calls is None:
            self._calls, self._answers = queue.SimpleQueue(), queue.SimpleQueue()
            arguments = (self._calls, self._answers)
            self._thread = threading.Thread(
                target=_serve, args=arguments, name="fedflip-learner", daemon=True
            )
            self._thread.start()
        self._calls.put(call)
        try:
            fine, answer = self._answers.get(timeout=self.secs)
        except queue.Empty:
            self._abandon()
            raise HungError from None
        except BaseException:
            self._abandon()
            raise
        if fine:
            return answer
        raise answer

    def close(self) -> None:
        """Ends the helper thread after its present call."""
        if self._calls is not None:
            self._calls.put(None)
        self._calls = self._thread = None

    def _abandon(self) -> None:
        thread = self._thread
        self.close()
        if thread is not None and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned)
            )


def _serve(
    calls: queue.SimpleQueue[Callable[[], Any] | None], answers: queue.SimpleQueue[tuple[bool, Any]]
) -> None:
    try:
        while (call := calls.get()) is not None:
            try:
                answers.put((True, call()))
            except _Abandoned:
                return
            except BaseException as error:
                answers.put((False, error))
            # A model that was lent must not live on here until the next call.
            del call
    except _Abandoned:
        pass
