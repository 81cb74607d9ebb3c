"""Runs the blocks of the named pages, or of all, on this machine: `python3 tests/site/try.py docs/start/python.md`.

For writers. `fedflip` is the one of FEDFLIP_BIN or target/debug, or else the first on the path. Python blocks run with this Python, and
with the extension that was built into the source folder where there is one (see CONTRIBUTING.md).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import page_blocks
from page_run import PageError, run_page


def main(names: list[str]) -> int:
    """Runs the pages, says how each went; 1 if one failed."""
    chosen = os.environ.get("FEDFLIP_BIN")
    built = Path(chosen).parent if chosen else page_blocks.REPOSITORY / "target/debug"
    programs = [Path(sys.executable).parent] + ([built] if (built / "fedflip").exists() else [])
    source = str(page_blocks.REPOSITORY / "python")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    failed = 0
    for page in [page_blocks.read(Path(name).resolve()) for name in names] or page_blocks.pages():
        for block in page.blocks:
            if block.not_run is not None and block.language in ("sh", "python", "toml"):
                print(f"{page.name}:{block.line}: not run: {block.not_run}")
        if page.step is None:
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_page(page, Path(folder), programs, sys.executable, quiet=page.step == "python")
                print(f"{page.name}: ok in {time.monotonic() - start:.1f} s (step {page.step})")
            except PageError as error:
                failed += 1
                print(f"FAILED {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
