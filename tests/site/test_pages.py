"""The commands of every page that needs no Python: they run, and print what the page shows."""

from __future__ import annotations

import os
from pathlib import Path

import page_blocks
import pytest
from page_blocks import Page
from page_run import run_page

PROGRAM = Path(os.environ.get("FEDFLIP_BIN") or page_blocks.REPOSITORY / "target/debug/fedflip")
PAGES = page_blocks.pages_of(page_blocks.STEP_OF_COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_commands_run_in_order(page: Page, tmp_path: Path) -> None:
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: cargo build -p fedflip"
    run_page(page, tmp_path, [PROGRAM.parent])


def test_every_page_has_one_title() -> None:
    for page in page_blocks.pages():
        fences = 0
        titles = []
        for line in page.text.splitlines():
            fences += line.lstrip().startswith("```")
            if fences % 2 == 0 and line.startswith("# "):
                titles.append(line)
        assert len(titles) == 1, f"{page.name}: {titles}"
