"""The command line: ``fedflip`` and ``python -m fedflip``."""

from __future__ import annotations

import signal
import sys

from fedflip._fedflip import run_command_line


def main() -> None:
    """Does what the arguments of the process ask for, and ends with the exit code of the command."""
    # The commands handle Ctrl-C themselves: they finish their round and leave a run that can be resumed.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The way to this command line for commands that start others; -P, because a folder may hold a fedflip.py.
    program = [sys.executable, "-P", "-m", "fedflip"]
    sys.exit(run_command_line(program, ["fedflip", *sys.argv[1:]]))
