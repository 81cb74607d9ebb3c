"""The blocks of the tutorial on deployments may be repeated in the same shell, and end when the server does."""

from __future__ import annotations

from pathlib import Path

import page_blocks
from page_run import run_page
from test_pages import PROGRAM

PAGE = page_blocks.REPOSITORY / "docs/tutorials/deployment.md"
#: The shell must have exactly the server and its three devices, and none once the server is gone.
CHECKS = """
```sh
test $(jobs -pr | wc -l) = 4
kill -9 $server
! await grep "no such line" server.log > said
grep "the server has ended" said
test -z "$(jobs -pr)"
```
"""


def test_processes_are_started_once_and_none_is_left(tmp_path: Path) -> None:
    # Ports of its own: another test runs the page at the same time.
    text = PAGE.read_text(encoding="utf-8").replace("7788", "7798").replace("8788", "8798")
    before, starts = text.split("## 3. ", 1)
    starts = starts.split("Each device enrols once.", 1)[0]
    page = tmp_path / "page.md"
    page.write_text(f"{before}{starts}{starts}{CHECKS}", encoding="utf-8")
    run_page(page_blocks.read(page), tmp_path, [PROGRAM.parent])
