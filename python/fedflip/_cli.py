"""The command line: ``fedflip`` and ``python -m fedflip``."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from fedflip._fedflip import Crews, run_command_line

if TYPE_CHECKING:
    from fedflip._crew import Crew


def main() -> None:
    """Does what the arguments of the process ask for, and ends with the exit code of the command."""
    # The commands handle Ctrl-C themselves: they finish their round and leave a run that can be resumed.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if ("--crew", "mpi") in zip(sys.argv, sys.argv[1:], strict=False) or "--crew=mpi" in sys.argv:
        from fedflip._errors import FedflipError
        from fedflip._mpi_ranks import take_part

        try:
            # All ranks but the first one serve it, and do not come back.
            take_part()
        except FedflipError as error:
            sys.exit(f"error: {error.problem}\n  hint: {error.remedy}")
    # The way to this command line for commands that start others; -P, because a folder may hold a fedflip.py.
    program = [sys.executable, "-P", "-m", "fedflip"]
    sys.exit(run_command_line(program, ["fedflip", *sys.argv[1:]], _crews))


def _crews(
    kind: str, address: str | None, workers: int | None, data_dir: os.PathLike[str] | None, mixed: bool
) -> Crews:
    """The workers of ``--crew``. They end with the process."""
    from fedflip._native_learner import opener

    crew = _crew(kind, address, workers, mixed)
    atexit.register(crew.close)
    opened = opener(crew, None if data_dir is None else os.path.abspath(data_dir))

    def open(text: str, fleet: bytes | None) -> None:
        opened(text, fleet)
        if kind == "ray":
            # Ray takes this signal for itself, and would end the process in the middle of a round.
            signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))

    return Crews(crew, open)


def _crew(kind: str, address: str | None, workers: int | None, mixed: bool) -> Crew:
    from fedflip._errors import InputError

    def refuse(flag: str, value: Any, why: str) -> None:
        if value:
            raise InputError(
                f"{flag} is given, but {why}", where=flag, value=value, remedy=f"leave out {flag}"
            )

    if kind == "ray":
        from fedflip._ray_crew import RayCrew

        return RayCrew(workers, address=address, mixed=mixed)
    refuse("--address", address, f"a crew of the kind {kind} has none")
    if kind == "mpi":
        from fedflip._mpi_crew import MpiCrew

        refuse("--workers", workers, "mpirun -n says how many processes there are")
        return MpiCrew(mixed=mixed)
    from fedflip._process_crew import ProcessCrew

    refuse("--mixed", mixed, "the processes of one machine are alike")
    return ProcessCrew(workers)
