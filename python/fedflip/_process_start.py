"""The start of a worker process on both sides: how its parent starts it, and what the process does first."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from fedflip._process_memory import not_standard

__all__ = ["END_SECS", "begin_worker", "start_worker", "use_one_thread", "worker_environment"]

#: The time that a worker has to end by itself.
END_SECS = 5.0
#: A worker has one core. More threads would compete with other workers, and change the last bits of sums.
_ONE_THREAD = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM", "BLIS")


def worker_environment() -> dict[str, str]:
    """The environment variables of a worker: those of this process, with one thread for each numeric library."""
    threads = {f"{library}_NUM_THREADS": "1" for library in _ONE_THREAD}
    return {**os.environ, **threads, "FEDFLIP_WORKER": "1"}


def start_worker(
    module: str, arguments: Sequence[Any], *, environment: Mapping[str, str], inherited: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], Connection]:
    """Starts a process that calls ``main(descriptor, parent, *arguments)`` of a module.

    The process is started afresh and not forked: a fork copies the locks of threads in an unknown state, and torch, numpy
    and fedflip have threads. The user's script is not imported.

    Args:
        module: The module, which calls :func:`begin_worker` with the descriptor and the process id of the parent.
        arguments: Values whose ``repr`` is Python.
        environment: All environment variables of the process.
        inherited: Descriptors that the process inherits, none of them a standard stream.

    Returns:
        The process, and the parent's end of a connection with it.
    """
    ours, theirs = (not_standard(end.detach()) for end in socket.socketpair())
    connection = Connection(ours)
    with Connection(theirs):
        path = [str(place) for place in sys.path]
        call = f"main(*{(theirs, os.getpid(), *arguments)!r})"
        code = f"import sys; sys.path[:] = {path!r}; from {module} import main; {call}"
        flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
        # The worker inherits that SIGINT is blocked, so that Ctrl-C cannot hit it before it ignores the signal.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [sys.executable, *flags, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs, *inherited),
                env=environment,
            )
        except BaseException:
            connection.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process, connection


def begin_worker(descriptor: int, parent: int) -> Connection:
    """Leaves Ctrl-C to the parent, and ends the process when the parent is gone.

    Returns:
        The worker's end of the connection.
    """
    # Ctrl-C reaches all processes of a terminal; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    watcher = threading.Thread(
        target=_watch_parent, args=(descriptor, parent), name="fedflip-parent", daemon=True
    )
    watcher.start()
    return Connection(descriptor)


def use_one_thread() -> None:
    """Pins torch to one thread, if it is loaded: workers share the cores, and bytes stay the same."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _watch_parent(descriptor: int, parent: int) -> None:
    """Ends the process when the parent is gone, even in the middle of a long training."""
    poll = select.poll()
    # No event is asked for, so that only the end of the connection is one.
    poll.register(descriptor, 0)
    while os.getppid() == parent:
        if poll.poll(1000):
            break
    os._exit(1)
