"""What fedflip shows on a terminal, read as the terminal gets it.

    python tests/readers/terminal.py FEDFLIP

runs the binary FEDFLIP with standard error on a pseudo-terminal: a bar that fits and goes away, no colours where
nobody wants them, no escape codes where the terminal knows none, nothing at all with --quiet. Needs a Unix, and
nothing beyond the standard library.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

# Long enough for the bar to be drawn several times, by the clock on the wall.
RUN = (
    "run s.toml --set task.hidden=8 --set fleet.devices=20 --set data.test_samples_max=200 --set plan.scheme=full "
    "--set stop.target_accuracy=0.999 --set stop.rounds_max=1000000 --set stop.real_hours_max=0.0003"
).split()
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def require(holds, what):
    if not holds:
        sys.exit(f"terminal: {what}")


def on_terminal(command, folder, columns=80, **environment):
    """What arrives at the terminal, and what went to standard output, which is a pipe."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CLICOLOR", "COLUMNS", "CI")}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=kept | {"TERM": "xterm-256color"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # How Linux says that the other end has gone.
            break
        if not part:
            break
        seen += part
    os.close(ours)
    printed = process.stdout.read()
    process.wait()
    return seen, printed


def main():
    require(len(sys.argv) == 2, "name the fedflip binary, and nothing else")
    fedflip = str(Path(sys.argv[1]).resolve())
    run = [fedflip, *RUN]
    # Refusals and their colours are clap's; they go to standard error.
    refused = [fedflip, "run", "--no-such-flag"]
    with tempfile.TemporaryDirectory() as folder:
        scenario = subprocess.run([fedflip, "scenario", "new", "synthetic"], capture_output=True, check=True)
        (Path(folder) / "s.toml").write_bytes(scenario.stdout)

        for columns in (80, 40, 20):
            seen, printed = on_terminal(run, folder, columns)
            require(b"synthetic full: ro"[: columns - 4] in seen, f"no bar at {columns} columns: {seen!r}")
            require(b"virtual time" in printed and b"\x1b" not in printed, f"standard output has {printed!r}")
            lines = re.split(r"[\r\n]", ESCAPE.sub(b"\r", seen).decode())
            widest = max(lines, key=len)
            require(len(widest) <= columns, f"{len(widest)} characters at {columns} columns: {widest!r}")
            require(b"\n" not in seen, f"the bar leaves lines behind at {columns} columns: {seen!r}")
            # The last thing drawn is an empty line.
            require(lines[-1].strip() == "", f"the bar stays behind: {lines[-3:]!r}")

        seen, _ = on_terminal([*run, "--quiet"], folder)
        require(seen == b"", f"--quiet shows {seen!r}")

        seen, _ = on_terminal(run, folder, NO_COLOR="1")
        require(b"round" in seen and not COLOUR.search(seen), f"NO_COLOR shows {seen!r}")
        require(COLOUR.search(on_terminal(refused, folder)[0]), "a refusal has no colours to take away")
        for name, value in (("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")):
            seen, _ = on_terminal(refused, folder, **{name: value})
            require(b"--no-such-flag" in seen and b"\x1b" not in seen, f"{name}={value} shows {seen!r}")

        seen, _ = on_terminal([*run, "--set", "stop.real_hours_max=0.0009"], folder, TERM="dumb")
        require(b"\x1b" not in seen, f"TERM=dumb shows {seen!r}")
        require(seen.count(b"\n") == 1 and b"round" in seen, f"TERM=dumb shows {seen!r}")
    print("   terminal: a bar that fits 80, 40 and 20 columns; NO_COLOR, CLICOLOR, TERM=dumb and --quiet kept")


if __name__ == "__main__":
    main()
