"""The guides: their Python blocks run in order, as a reader would type them, and names in the text exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import fedflip as ff
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
#: The pages whose blocks are whole programs, and the files that their blocks write.
WHOLE = {"README.md": {"run", "report.html"}, "docs/reference/python.md": {"run", "report.html"}}
PAGES = ["README.md", *sorted(str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("docs/**/*.md"))]
MODULES = ("certs", "datasets", "plots", "tasks")
#: Runs a file as if its lines were typed: in `__main__`, with the names and lines of the page in tracebacks.
TYPED = "import sys; page = sys.argv[1]; exec(compile(open(page, encoding='utf-8').read(), page, 'exec'))"


class Block(NamedTuple):
    """A Python block of a page."""

    #: The number of the first line of code.
    line: int
    code: str

    @property
    def needs_torch(self) -> bool:
        return "torch" in self.code


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    text = text_of(page)
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


def program_of(blocks: list[Block]) -> str:
    """All blocks as one program, each on the lines that it has in its page."""
    program = ""
    for block in blocks:
        program += "\n" * (block.line - 1 - program.count("\n")) + block.code
    return program


def run_blocks(page: str, blocks: list[Block], folder: Path) -> None:
    """Runs blocks in a process of their own in an empty folder, with the package that the tests use."""
    script = folder / Path(page).name
    script.write_text(program_of(blocks), encoding="utf-8")
    cwd = folder / "work"
    cwd.mkdir()
    package = str(Path(ff.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-B", "-c", TYPED, str(script)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    # A message or a warning would puzzle a reader who typed what the page says.
    assert done.stderr == "", done.stderr
    assert {entry.name for entry in cwd.iterdir()} == WHOLE[page]


@pytest.mark.parametrize("page", WHOLE)
def test_blocks_run_in_order(page: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    blocks = [block for block in blocks_of(page) if not block.needs_torch]
    assert blocks
    run_blocks(page, blocks, tmp_path)


@pytest.mark.torch
def test_blocks_with_torch_run_in_order(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    blocks = blocks_of("docs/reference/python.md")
    assert any(block.needs_torch for block in blocks)
    run_blocks("docs/reference/python.md", blocks, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_are_python(page: str) -> None:
    """Blocks of other pages have gaps for the reader to fill in, but are Python all the same."""
    compile(program_of(blocks_of(page)), page, "exec")


@pytest.mark.parametrize("page", PAGES)
def test_names_exist(page: str) -> None:
    """Every `ff.name` of a page is public; of a module, so is every name in it."""
    missing = []
    for name, of_module in re.findall(r"\bff\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", text_of(page)):
        if name not in ff.__all__:
            missing.append(f"ff.{name}")
        elif name in MODULES and of_module not in ("", *getattr(ff, name).__all__):
            missing.append(f"ff.{name}.{of_module}")
    assert not missing, missing


def test_files_that_the_guide_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of("docs/reference/python.md")):
        assert (REPOSITORY / "docs/reference" / target).exists(), target
