"""Pages of the reference name everything that the tables of the program have, and nothing else."""

from __future__ import annotations

import re

from page_blocks import REPOSITORY


def text(path: str) -> str:
    return (REPOSITORY / path).read_text(encoding="utf-8")


def first_cells(page: str) -> set[str]:
    """The code in the first cells of a page's tables."""
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", page, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_on_metrics_has_every_task_metric() -> None:
    names = set(
        re.findall(
            r'MetricInfo::new\("([\w-]+)", Direction',
            text("crates/learn/src/metrics.rs").split("#[cfg(test)]")[0],
        )
    )
    assert len(names) > 5
    missing = names - first_cells(text("docs/reference/metrics.md"))
    assert not missing, f"docs/reference/metrics.md lacks {missing}"


def test_the_page_on_metrics_has_every_metric_of_the_server_with_its_type() -> None:
    source = text("crates/net/src/status/metrics.rs").split("#[cfg(test)]")[0]
    devices = text("crates/net/src/status/device_metrics.rs").split("#[cfg(test)]")[0]
    kinds: dict[str, str] = {}
    for method, name in re.findall(r'page\s*\.(counter|reasons|gauge|named|histogram)\(\s*"(\w+)"', source):
        is_counter = method in ("counter", "reasons")
        kind = "counter" if is_counter else "histogram" if method == "histogram" else "gauge"
        kinds[f"fedflip_{name}_total" if is_counter else f"fedflip_{name}"] = kind
    of_devices = {
        f"fedflip_{name}" for name in re.findall(r'^ +(?:\()?"(device_\w+)",', devices, flags=re.MULTILINE)
    }
    assert len(kinds) > 20 and len(of_devices) == 6, (kinds, of_devices)
    page = text("docs/reference/metrics.md")
    listed = {name for name in first_cells(page) if name.startswith("fedflip_")}
    assert listed == set(kinds) | of_devices
    for name, kind in kinds.items():
        assert re.search(rf"^\| `{name}` \| {kind}\b", page, flags=re.MULTILINE), f"{name} is a {kind}"


def test_the_page_on_schemes_has_every_scheme() -> None:
    rows = re.findall(r' by [\w:]+: \w+, "([\w=-]+)",', text("crates/plan/src/scheme.rs"))
    assert len(rows) > 20
    listed = {
        name.partition("=")[0] + ("=best" if name.endswith("=best") else "")
        for name in first_cells(text("docs/reference/schemes.md"))
    }
    missing = {row.removesuffix("=") for row in rows} - listed - {"custom"}
    assert not missing, f"docs/reference/schemes.md lacks {missing}"
    assert "`custom=" in text("docs/reference/schemes.md")
