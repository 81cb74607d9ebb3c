"""The worker processes of a VirtualGrid, as their parent sees them."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from fedflip._errors import FedflipError, InputError
from fedflip._process_pool import died_of
from fedflip._process_start import END_SECS, start_worker, worker_environment
from fedflip.flower._client import Outcome

__all__ = ["Job", "Workers"]

#: A message, the context of its client, and a seed.
Job = tuple[Any, Any, int | None]


class Workers:
    """Processes that run clients. They start when they are first needed, and load the app once.

    Args:
        client_app: A ClientApp, or its import path.
        workers: The number of processes.
    """

    def __init__(self, client_app: Any, workers: int) -> None:
        self._parcel = _parcel(client_app)
        self._number = workers
        self._processes: list[_Process] = []

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Runs all jobs, and returns their outcomes in the order of the jobs. A job whose process dies is run once more."""
        outcomes: list[Outcome | None] = [None] * len(jobs)
        waiting = deque(range(len(jobs)))
        died: set[int] = set()
        while len(self._processes) < min(self._number, len(jobs)):
            self._processes.append(_Process(self._parcel))
        busy: dict[Connection, tuple[_Process, int]] = {}
        try:
            idle = list(self._processes)
            while waiting or busy:
                while waiting and idle:
                    process, place = idle.pop(), waiting.popleft()
                    process.send(jobs[place])
                    busy[process.connection] = (process, place)
                for ready in wait(list(busy)):
                    process, place = busy.pop(ready)  # type: ignore[call-overload]
                    outcome = process.receive()
                    if outcome is None:
                        process = self._replaced(process)
                        outcome = self._after_crash(place, died, waiting, process.reason)
                    idle.append(process)
                    outcomes[place] = outcome
        except BaseException:
            self.close(kill=True)
            raise
        return [outcome for outcome in outcomes if outcome is not None]

    def _replaced(self, process: _Process) -> _Process:
        self._processes.remove(process)
        other = _Process(self._parcel)
        other.reason = process.end(kill=True)
        self._processes.append(other)
        return other

    def _after_crash(self, place: int, died: set[int], waiting: deque[int], reason: str) -> Outcome | None:
        if place not in died:
            died.add(place)
            waiting.appendleft(place)
            return None
        return Outcome(problem=f"the worker process of the client died twice: {reason}", crashed=True)

    def close(self, kill: bool = False) -> None:
        """Ends all processes; ``kill`` does not wait for what they are doing."""
        for process in self._processes:
            if kill:
                process.process.kill()
            process.end(kill=kill)
        self._processes.clear()


class _Process:
    """One process, which has loaded the app."""

    def __init__(self, parcel: tuple[str, bytes]) -> None:
        self.reason = ""
        self.process, self.connection = start_worker(
            "fedflip.flower._worker", (), environment=worker_environment()
        )
        self.connection.send(parcel)
        self._is_ready = False

    def send(self, job: Job) -> None:
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def receive(self) -> Outcome | None:
        """The outcome of the job; None if the process is gone."""
        try:
            if not self._is_ready:
                loaded, problem, shown = self.connection.recv()
                if not loaded:
                    raise FedflipError(
                        f"a worker process cannot load the ClientApp: {problem}\n\n{shown}",
                        remedy="give client_app as an import path such as package.client_app:app",
                    )
                self._is_ready = True
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            return None
        return outcome

    def end(self, kill: bool) -> str:
        """Ends the process, and says how it ended."""
        with contextlib.suppress(OSError):
            self.connection.send(None)
        try:
            # A process that has died needs a moment to be seen as dead; a busy one is not waited for.
            self.process.wait(1.0 if kill else END_SECS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.connection.close()
        return died_of(self.process.returncode)


def _parcel(client_app: Any) -> tuple[str, bytes]:
    """An app for other processes: its import path, or itself as bytes."""
    if isinstance(client_app, str):
        return client_app, b""
    place = _place_of(client_app)
    if place:
        return place, b""
    try:
        packer: Any = importlib.import_module("cloudpickle")
    except ModuleNotFoundError:
        packer = pickle
    try:
        return "", packer.dumps(client_app)
    except Exception as error:
        raise InputError(
            f"client_app cannot be sent to other processes: {type(error).__name__}: {error}",
            where="client_app",
            value=client_app,
            remedy="give its import path, such as package.client_app:app, or `pip install cloudpickle`",
        ) from error


def _place_of(client_app: Any) -> str:
    """Where an importable module has the app; empty if none has it."""
    for name, module in list(sys.modules.items()):
        if name == "__main__" or getattr(module, "__spec__", None) is None:
            continue
        for attribute, value in list(vars(module).items()):
            if value is client_app:
                return f"{name}:{attribute}"
    return ""
