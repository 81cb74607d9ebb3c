"""The page on the command line is what the program says of itself: its commands, their help, and its exit codes.

`FEDFLIP_BIN=target/debug/fedflip INSTA_UPDATE=always PYTHON -m pytest tests/site/test_reference.py` writes the page anew.
"""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from page_blocks import REPOSITORY
from test_pages import PROGRAM

PAGE = REPOSITORY / "docs/reference/command-line.md"
#: The enum whose comments say what the exit codes mean.
EXIT_CODES = REPOSITORY / "crates/fedflip/src/error.rs"
HEAD = """# The command line

This page is for readers who look up a command or an option of `fedflip`. It shows the help of every command, as
`fedflip COMMAND --help` prints it, and the exit codes.

## Exit codes

| code | meaning |
|---|---|
"""


def help_of(command: list[str]) -> str:
    """What a command says of itself."""
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [PROGRAM, *command, "--help"], capture_output=True, text=True, encoding="utf-8", env=env
    )
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())


def commands_in(text: str) -> list[str]:
    """The commands that a help lists, but `help` itself."""
    section = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, flags=re.MULTILINE)
    names = re.findall(r"^  (\S+)", section[1], flags=re.MULTILINE) if section else []
    return [name for name in names if name != "help"]


def described(command: list[str]) -> str:
    """A command, and the commands within it."""
    text = help_of(command)
    page = (
        f"\n{'#' * min(1 + len(command), 3)} {' '.join(['fedflip', *command])}\n\n```text\n{text}\n```\n"
        if command
        else ""
    )
    return page + "".join(described([*command, name]) for name in commands_in(text))


def exit_codes(source: str) -> list[tuple[str, str]]:
    """The codes and what they mean."""
    body = re.search(r"enum ExitStatus \{(.*?)\n\}", source, flags=re.DOTALL)
    assert body, f"{EXIT_CODES} has no enum ExitStatus"
    return [(code, text) for text, code in re.findall(r"/// (.*)\n +\w+ = (\d+),", body[1])]


def page() -> str:
    rows = "".join(
        f"| {code} | {text} |\n" for code, text in exit_codes(EXIT_CODES.read_text(encoding="utf-8"))
    )
    return HEAD + rows + described([])


def test_the_page_is_that_of_the_program() -> None:
    right = page()
    if os.environ.get("INSTA_UPDATE") == "always":
        PAGE.write_text(right, encoding="utf-8")
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    assert there == right, f"{PAGE} is behind: see the head of {__file__}"


def test_the_page_has_every_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for command in ("fedflip plan", "fedflip fleet new", "fedflip serve", "fedflip devices retire"):
        assert re.search(rf"^##+ {command}$", text, flags=re.MULTILINE), command
    assert len(exit_codes(EXIT_CODES.read_text(encoding="utf-8"))) == text.count("\n| ") - 1


def test_a_help_without_commands_has_none() -> None:
    assert commands_in("Usage: a\n\nOptions:\n  -h  help\n") == []
    assert commands_in(
        "Usage: a\n\nCommands:\n  new   Make\n        more\n  help  Help\n\nOptions:\n  -h\n"
    ) == ["new"]
    with pytest.raises(AssertionError, match="no enum"):
        exit_codes("enum Other {}")
