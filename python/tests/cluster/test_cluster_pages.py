"""The pages whose code needs Ray, MPI or Dask: their blocks run in order."""

from __future__ import annotations

from pathlib import Path

import page_blocks
import pytest
from doc_pages import run_with_package

PAGES = page_blocks.pages_of("cluster")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_blocks_run_in_order(page: page_blocks.Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("ray", "mpi4py", "distributed"):
        pytest.importorskip(module)
    # In a container, tests may have no other user, and fewer processors than ranks.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    # Ray logs on standard error.
    run_with_package(page, tmp_path, monkeypatch, quiet=False)
