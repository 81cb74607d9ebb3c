"""The runner of pages fails on whatever is wrong in a page, and on nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import page_blocks
import pytest
from page_run import PageError, run_page
from page_shape import difference, shape

RIGHT = """# A page

```sh
echo "3 devices, 1.5 s" > said.txt
mkdir inner && cd inner
```

<!-- not run: it would never end -->
```sh
sleep infinity
```

```csv title="a/b.csv"
1,2
```

```sh
cat ../said.txt a/b.csv
```

```text
4 devices, 20 ms
…
```

<!-- exits with 2 -->
```sh
echo "a mistake" >&2; (exit 2)
```

```text
a mistake
```

```python
seen = open("said.txt").read()
```

Prose.

```python
print(seen, end="")
```

```text
8 devices, 2 s
```
"""


def run(text: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    run_page(page_blocks.read(path), tmp_path, [], sys.executable, quiet=True)


def test_a_right_page_passes(tmp_path: Path) -> None:
    run(RIGHT, tmp_path)
    assert (tmp_path / "work/inner/a/b.csv").read_text() == "1,2\n"


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("cat ../said.txt", "cat ../unsaid.txt", "page.md:18"),
        ("cat ../said.txt", "no-such-program", "page.md:18"),
        ("cat ../said.txt", "false | cat ../said.txt", "page.md:18"),
        ("4 devices, 20 ms", "4 clients, 20 ms", "page.md:22"),
        ("4 devices, 20 ms\n…", "4 devices, 20 ms", "page.md:22"),
        ("(exit 2)", "(exit 3)", "page.md:28"),
        ("exit 2", "exit 0", "page.md:28"),
        ("a mistake\n```", "a remark\n```", "page.md:32"),
        ('open("said.txt")', 'open("unsaid.txt")', "line 36"),
        ("print(seen", "print(unseen", "line 42"),
        ("print(seen", "import sys; print(1, file=sys.stderr); print(seen", "standard error"),
        ("8 devices, 2 s", "8 devices", "page.md:46"),
    ],
)
def test_a_wrong_page_fails_and_names_the_place(right: str, wrong: str, place: str, tmp_path: Path) -> None:
    assert right in RIGHT
    with pytest.raises(PageError, match=place):
        run(RIGHT.replace(right, wrong), tmp_path)


def test_a_warning_that_the_page_does_not_mention_fails(tmp_path: Path) -> None:
    warns = "# A page\n\n```sh\nprintf 'warning: %s' '3 of 4 devices are slow' >&2\n```\n"
    with pytest.raises(
        PageError, match=r"page\.md:4: the page does not mention this warning\nwarning: 3 of 4"
    ):
        run(warns, tmp_path)
    mentioned = tmp_path / "mentioned"
    mentioned.mkdir()
    run(f"{warns}\nThe warning `3 of 4 devices` is right.\n", mentioned)


def test_a_wrong_scenario_fails(tmp_path: Path) -> None:
    refuse = tmp_path / "bin/fedflip"
    refuse.parent.mkdir()
    refuse.write_text("#!/bin/sh\ngrep -q good $3\n")
    refuse.chmod(0o755)
    page = tmp_path / "page.md"
    for number, (text, fails) in enumerate([("good = 1", False), ("bad = 1", True)]):
        page.write_text(f"```toml\n{text}\n```\n")
        folder = tmp_path / str(number)
        folder.mkdir()
        if fails:
            with pytest.raises(PageError, match=r"page\.md:2"):
                run_page(page_blocks.read(page), folder, [refuse.parent])
        else:
            run_page(page_blocks.read(page), folder, [refuse.parent])
    page.write_text("<!-- fragment -->\n```toml\nbad = 1\n```\n")
    assert page_blocks.read(page).step is None


def test_a_block_that_does_not_run_needs_a_reason() -> None:
    with pytest.raises(ValueError, match=r"line 1: .* needs its reason"):
        page_blocks.blocks_of("<!-- not run: -->\n```sh\ntrue\n```\n")


def test_the_code_of_a_page_decides_where_it_runs(tmp_path: Path) -> None:
    def step(text: str) -> str | None:
        path = tmp_path / "page.md"
        path.write_text(text, encoding="utf-8")
        return page_blocks.read(path).step

    assert step("# Prose on torch\n") is None
    assert step("```sh\nfedflip plan f.csv\n```\n") == "site"
    assert step("```sh\npython a.py\n```\n") == "python"
    assert step("```python\nimport fedflip\n```\n") == "python"
    assert step("```python\nimport torch\n```\n") == "torch"
    assert step("```python\nimport torch, flwr\n```\n") == "flower"
    assert step("```sh\nmpirun -n 2 python a.py\n```\n") == "cluster"
    assert step("<!-- not run: no cluster -->\n```sh\nmpirun a.py\n```\n\n```sh\ntrue\n```\n") == "site"
    assert step("<!-- not run on this page: no network -->\n\nProse.\n\n```sh\ntrue\n```\n") is None


def test_shapes_have_no_numbers() -> None:
    assert shape("  exact   26.8 s  3.92 s  0.62×  ▂▄▅▆") == shape("exact 1.2 min 9 ms 12.34×    ▂▄▅▆▇▇▇")
    assert shape("seen in 2026-11-18, 1,024 of 4e-16") == shape("seen in 2025-01-02, 7 of −3")
    assert shape("digest 0a1b2c3d4e5f") == shape("digest ffffffff0000")
    assert shape("3 devices") != shape("3 clients")
    assert difference("a\n…\nd\n", ["a\nb\nc\nd\n"]) is None
    assert difference("kept in … by 3", ["kept in runs/a-7 by 4\n"]) is None
    assert difference("a\n…\nd\n", ["a\nb\nc\n"]) is not None
    assert difference("", ["a\n"]) is not None
