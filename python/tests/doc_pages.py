"""Runs pages of the documentation with the package that the tests use."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import fedflip as ff
import page_blocks
import pytest
from page_run import run_page


def run_with_package(
    page: page_blocks.Page, folder: Path, monkeypatch: pytest.MonkeyPatch, quiet: bool = True
) -> None:
    """Runs a page; `fedflip`, `python` and `import fedflip` are those of the tests."""
    package = str(Path(ff.__file__).resolve().parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])))
    programs = folder / "programs"
    programs.mkdir()
    python = shlex.quote(sys.executable)
    for name, command in [("fedflip", f"{python} -m fedflip"), ("python", python)]:
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    # Programs of other packages, such as `flwr`, and those of Rust where they are built.
    others = [Path(sys.executable).parent, page_blocks.REPOSITORY / "target/debug"]
    run_page(page, folder, [programs, *others], sys.executable, quiet)
