"""The pages of the documentation: their blocks run in order, as a reader would type them, and names in the text exist."""

from __future__ import annotations

import re
from pathlib import Path

import fedflip as ff
import page_blocks
import pytest
from doc_pages import run_with_package
from page_blocks import Page

PAGES = page_blocks.pages()
MODULES = ("certs", "datasets", "plots", "tasks")


def named(pages: list[Page]) -> list[object]:
    return [pytest.param(page, id=page.name) for page in pages]


@pytest.mark.parametrize("page", named(page_blocks.pages_of("python")))
def test_blocks_run_in_order(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    run_with_package(page, tmp_path, monkeypatch)


@pytest.mark.deployed
def test_a_repeated_deployment_ends_and_says_that_the_run_was_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its devices would wait for ever for a server that has nothing left to do."""
    text = (page_blocks.REPOSITORY / "docs/tutorials/own-data.md").read_text(encoding="utf-8")
    before, deployment = text.split("## 6. ", 1)
    block = "```sh\n" + deployment.split("```sh\n", 1)[1].split("```", 1)[0]
    path = tmp_path / "page.md"
    path.write_text(f"{before}{block}```\n\n{block}grep 'was over' server.log\n```\n", encoding="utf-8")
    run_with_package(page_blocks.read(path), tmp_path, monkeypatch)


@pytest.mark.torch
@pytest.mark.parametrize("page", named(page_blocks.pages_of("torch")))
def test_blocks_with_torch_run_in_order(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    run_with_package(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", named(PAGES))
def test_blocks_are_python(page: Page) -> None:
    """Blocks that do not run here are Python all the same."""
    for block in page.blocks:
        if block.language == "python":
            compile("\n" * (block.line - 1) + block.code, page.name, "exec")


@pytest.mark.parametrize("page", named(PAGES))
def test_names_exist(page: Page) -> None:
    """Every `ff.name` of a page is public; of a module, so is every name in it."""
    missing = []
    for name, of_module in re.findall(r"\bff\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?", page.text):
        if name not in ff.__all__:
            missing.append(f"ff.{name}")
        elif name in MODULES and of_module not in ("", *getattr(ff, name).__all__):
            missing.append(f"ff.{name}.{of_module}")
    assert not missing, missing


def test_the_reference_has_every_name() -> None:
    pages = "".join(page.text for page in PAGES if page.name.startswith("docs/reference/python-api/"))
    described = re.findall(r"^::: fedflip\.(\w+)$", pages, flags=re.MULTILINE)
    assert sorted([*described, "__version__"]) == sorted([*ff.__all__, "flower"])
