"""The pages whose code needs Flower: their blocks run in order."""

from __future__ import annotations

from pathlib import Path

import page_blocks
import pytest
from doc_pages import run_with_package

PAGES = page_blocks.pages_of("flower")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_blocks_run_in_order(page: page_blocks.Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("flwr")
    # Flower logs its rounds on standard error.
    run_with_package(page, tmp_path, monkeypatch, quiet=False)
