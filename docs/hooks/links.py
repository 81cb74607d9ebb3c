"""Follows every link of the built site: MkDocs checks those of Markdown, this hook also those of HTML, CSS and templates."""

from __future__ import annotations

import logging
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LOG = logging.getLogger("mkdocs.hooks.links")
#: A line of a list that became a part of the paragraph before it, as Markdown has it on no code host.
STRAY = re.compile(r"^(?:[-*] |\d+\. )\S")
#: Attributes with which a page loads something, by element. Links to other hosts are fine, loading from them is not.
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Built(HTMLParser):
    """What a built page links to, what it can be linked to by, and what looks wrong in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.stray: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes anchors and links."""
        self.open.append(tag)
        named = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := named.get(name))}
        loads_style = tag == "link" and "stylesheet" in (named.get("rel") or "")
        for name in ("href", "src", "data"):
            if (value := named.get(name)) and not (tag == "link" and named.get("rel") == "canonical"):
                self.links.append((value, loads_style or (tag, name) in LOADS))

    def handle_endtag(self, tag: str) -> None:
        """Closes the element, and those inside that need no end."""
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Finds lists that are none."""
        if self.open and self.open[-1] == "p":
            self.stray += [line for line in data.splitlines()[1:] if STRAY.match(line)]


def on_post_build(config: Any, **_: Any) -> None:
    """Warns of each link that leads nowhere; in strict mode a warning fails the build."""
    for problem in problems_of(Path(config.site_dir)):
        LOG.warning("%s", problem)


def problems_of(site: Path) -> list[str]:
    """Every broken link, every load from another host and every broken list of a built site."""
    site = site.resolve()
    pages = {path: Built(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        shown = path.relative_to(site)
        problems += [f"{shown}: a list needs an empty line before it: {line}" for line in page.stray]
        for link, is_loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if is_loaded and parts.scheme != "data":
                    problems.append(f"{shown}: loads {link} from another host")
                continue
            # The page for addresses that do not exist may be shown at any depth, so that its links begin at the root.
            base = site if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                problems.append(f"{shown}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{shown}: {link} has no such anchor")
    return problems
