"""Runs the blocks of a page as a reader would: commands in one shell, Python as one program, in one fresh folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

from page_blocks import Block, Page
from page_shape import difference

SECS_MAX = 240
QUOTE = re.compile(r"`([^`\n]+)`")
#: A warning of the command line, of a log, or of Python.
WARNING = re.compile(r"^warning: |WARN(?:ING)?\b|\w+Warning: ")
#: Runs Python blocks as if they were typed: in `__main__`, with the names and lines of the page in tracebacks. What each block
#: prints goes into a file.
TYPED = """
import json, os, sys
page, blocks = sys.argv[1], json.loads(sys.argv[2])
sys.argv = [page]
for line, code, out in blocks:
    file = os.open(out, os.O_WRONLY | os.O_CREAT, 0o644)
    os.dup2(file, 1)
    os.close(file)
    exec(compile("\\n" * (line - 1) + code, page, "exec"))
    sys.stdout.flush()
"""


class PageError(AssertionError):
    """A block of a page does not do what the page says."""


def run_page(
    page: Page, folder: Path, programs: list[Path], python: str | None = None, quiet: bool = False
) -> None:
    """Runs a page in an empty folder.

    `programs` are folders that come first on the path, with `fedflip`. Python blocks need a `python` with the package; if the
    page is to be `quiet`, they must print nothing on standard error, because a warning would puzzle a reader.
    """
    work, notes = folder / "work", folder / "notes"
    work.mkdir()
    notes.mkdir()
    path = os.pathsep.join([*map(str, programs), os.environ.get("PATH", "")])
    env = {
        **os.environ,
        "PATH": path,
        "MPLBACKEND": "agg",
        "NO_COLOR": "1",
        "HOME": str(folder),
        "COLUMNS": "120",
    }
    # A reader has none of the folders of the tests.
    for name in ("FEDFLIP_BIN", "FEDFLIP_DATA"):
        env.pop(name, None)
    if page.of("sh") or any(block.title for block in page.blocks):
        run_commands(page, work, notes, env)
    if page.of("python"):
        if python is None:
            raise PageError(f"{page.name} has Python blocks: `cargo xtask test {page.step}` runs it")
        run_python(page, work, notes, env, python, quiet)
    check_scenarios(page, work, notes, env)


def run_commands(page: Page, work: Path, notes: Path, env: dict[str, str]) -> None:
    """Runs all shell blocks in one session, and compares what they print."""
    script = notes / page.path.name
    script.write_text(session_of(page, notes), encoding="utf-8")
    code = wait(["bash", "-eu", "-o", "pipefail", str(script)], work, notes / "session", env)
    if code != 0:
        where = (notes / "failed").read_text().strip() if (notes / "failed").exists() else "?"
        said = "".join(
            read(notes / f"{block.line}.{kind}") for block in page.of("sh") for kind in ("out", "err")
        )
        said += read(notes / "session.err")
        raise PageError(f"{page.name}:{where}: the command ended with {code}\n{said[-3000:]}")
    for block in page.of("sh"):
        out, err = read(notes / f"{block.line}.out"), read(notes / f"{block.line}.err")
        compare(page, block, [out, err, err + out, out + err])
        check_warnings(page, block, err)


def session_of(page: Page, notes: Path) -> str:
    """The shell blocks as one script, in which each command is on the line that it has in its page."""
    lines = ["" for _ in page.text.splitlines()] + [""]
    failed = shlex.quote(str(notes / "failed"))
    ended = "trap - ERR; kill $(jobs -p) 2>/dev/null || true"
    setup = f"trap 'echo $LINENO > {failed}' ERR; trap '{ended}' EXIT; "
    for block in page.blocks:
        before = block.line - 2
        if block.title and block.not_run is None:
            file = notes / f"{block.line}.file"
            file.write_text(block.code, encoding="utf-8")
            title = shlex.quote(block.title)
            lines[before] = f"{setup}mkdir -p -- $(dirname -- {title}); cp {shlex.quote(str(file))} {title}"
        elif block.language == "sh" and block.runs:
            out, err = (shlex.quote(str(notes / f"{block.line}.{kind}")) for kind in ("out", "err"))
            code = block.code.splitlines()
            lines[before] = f"{setup}exec > {out} 2> {err}"
            lines[before + 1 : before + 1 + len(code)] = code
            if block.exits_with:
                wrong = f'{{ echo "{block.line} (expected exit code {block.exits_with}, not $code)" > {failed}; exit 99; }}'
                lines[before] += "; set +e"
                lines[before + 1 + len(code)] = f"code=$?; [ $code = {block.exits_with} ] || {wrong}; set -e"
        else:
            continue
        setup = ""
    return "\n".join(lines) + "\n"


def run_python(page: Page, work: Path, notes: Path, env: dict[str, str], python: str, quiet: bool) -> None:
    """Runs all Python blocks as one program, and compares what they print."""
    blocks = page.of("python")
    typed = json.dumps([[block.line, block.code, str(notes / f"{block.line}.out")] for block in blocks])
    code = wait([python, "-B", "-c", TYPED, str(page.path), typed], work, notes / "python", env)
    said = read(notes / "python.err")
    if code != 0:
        raise PageError(f"{page.name}: its Python ended with {code}\n{said[-3000:]}")
    if quiet and said:
        raise PageError(f"{page.name}: its Python prints on standard error\n{said[-3000:]}")
    for block in blocks:
        compare(page, block, [read(notes / f"{block.line}.out")])


def compare(page: Page, block: Block, printed: list[str]) -> None:
    """Fails if a block prints something else than the page shows."""
    if block.output and (differs := difference(block.output.code, printed)) is not None:
        raise PageError(f"{page.name}:{block.output.line}: the output differs, numbers apart\n{differs}")


def check_warnings(page: Page, block: Block, told: str) -> None:
    """Fails if a command prints a warning of which the page does not quote at least three words."""
    quotes = [quote for quote in QUOTE.findall(page.text) if len(quote.split()) >= 3]
    # A command in the hint of a warning is no mention of it.
    quotes = [quote for quote in quotes if not quote.startswith("fedflip ")]
    for line in filter(WARNING.search, told.splitlines()):
        if line not in page.text and not any(quote in line for quote in quotes):
            raise PageError(f"{page.name}:{block.line}: the page does not mention this warning\n{line}")


def check_scenarios(page: Page, work: Path, notes: Path, env: dict[str, str]) -> None:
    """Checks the scenarios of a page, where the files that they name are at hand."""
    for block in page.scenarios:
        file = work / f"scenario-of-line-{block.line}.toml"
        file.write_text(block.code, encoding="utf-8")
        if wait(["fedflip", "scenario", "check", file.name], work, notes / "check", env) != 0:
            raise PageError(f"{page.name}:{block.line}: no scenario of fedflip\n{read(notes / 'check.err')}")


def wait(command: list[str], work: Path, notes: Path, env: dict[str, str]) -> int:
    """Runs a command to its end; then nothing that it started runs on."""
    with open(f"{notes}.out", "wb") as out, open(f"{notes}.err", "wb") as err:
        child = subprocess.Popen(
            command,
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            return child.wait(SECS_MAX)
        except subprocess.TimeoutExpired:
            err.write(f"it did not end within {SECS_MAX} s\n".encode())
            return -1
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
