"""Lets the site show what lives outside docs/: whole pages, pictures, and links to files of the repository.

The Markdown sources have relative links that work on a code host. This hook rewrites those that leave docs/, so that a text
has one home and still appears in the site.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
#: Pages of the site whose text lives elsewhere in the repository.
INCLUDED = {
    "explanation/architecture.md": "ARCHITECTURE.md",
    "explanation/security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
#: Files of the repository whose place in the site is another page.
PAGES = {source: page for page, source in INCLUDED.items()} | {"README.md": "index.md", "docs": "index.md"}
PICTURES = (".svg", ".png", ".gif", ".webp")
#: Where pictures from outside docs/ are in the site.
COPIES = "repository"

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
#: A link or a picture, whose text may hold code, a picture or one more pair of brackets.
LINK = re.compile(
    r"(!?)\[((?:`[^`]*`|!\[[^\]]*\]\([^)]*\)|\[[^\]]*\]|[^\]`\[])*)\]\(([^)\s]+)(\s+\"[^\"]*\"|)\)"
)
CODE_SPAN = re.compile(r"(`+)(?:.*?)\1", re.DOTALL)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Adds the pages that live elsewhere."""
    for page, source in INCLUDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files, **_: Any) -> str:
    """Rewrites the links of a page."""
    here = page.file.src_uri
    source = INCLUDED.get(here, f"docs/{here}")

    def rewritten(match: re.Match[str]) -> str:
        is_picture, target, title = match[1] == "!", match[3], match[4]
        # The text of a link may be a picture.
        text = LINK.sub(rewritten, match[2])
        if re.match(r"[a-z][a-z0-9+.-]*:|#|//", target):
            return f"{match[1]}[{text}]({target}{title})"
        path, _, anchor = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        anchor = anchor and f"#{anchor}"
        page_of = PAGES.get(wanted)
        if page_of is None and wanted.startswith("docs/"):
            page_of = wanted.removeprefix("docs/")
        if page_of is not None:
            return f"{match[1]}[{text}]({relative(page_of, here)}{anchor}{title})"
        if not (ROOT / wanted).exists():
            # Left as it is, so that MkDocs warns of it.
            return f"{match[1]}[{text}]({target}{title})"
        if is_picture:
            return f"![{text}]({relative(copied(wanted, config, files), here)}{title})"
        return to_repository(text, wanted, anchor, config.repo_url)

    return "".join(part if is_code else LINK.sub(rewritten, part) for is_code, part in parts_of(markdown))


def relative(target: str, page: str) -> str:
    """The link from one page to another file of the site."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def copied(path: str, config: Any, files: Files) -> str:
    """The place of a picture of the repository in the site."""
    place = f"{COPIES}/{path}"
    if files.get_file_from_path(place) is None:
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return place


def to_repository(text: str, path: str, anchor: str, repository: str | None) -> str:
    """A link to a file on the code host; the path of the file while there is none."""
    if repository:
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"[{text}]({repository.rstrip('/')}/{kind}/main/{path}{anchor})"
    plain = text.strip("`")
    if path.endswith(plain.rstrip("/")) or plain in path:
        return f"`{path}`"
    return f"{text} (`{path}`)"


def parts_of(markdown: str) -> list[tuple[bool, str]]:
    """The text in parts: code, in which nothing is a link, and prose."""
    parts: list[tuple[bool, str]] = []
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    for line in markdown.splitlines(keepends=True):
        found = FENCE.match(line)
        if not fence and found:
            parts += prose_parts("".join(prose))
            prose, code, fence = [], [line], found[1]
        elif fence:
            code.append(line)
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                parts.append((True, "".join(code)))
                code, fence = [], ""
        else:
            prose.append(line)
    return [*parts, (True, "".join(code)), *prose_parts("".join(prose))]


def prose_parts(text: str) -> list[tuple[bool, str]]:
    """Prose, without the code spans that are no part of a link's text."""
    parts: list[tuple[bool, str]] = []
    end = 0
    links = [match.span() for match in LINK.finditer(text)]
    for match in CODE_SPAN.finditer(text):
        if any(start < match.start() < stop for start, stop in links):
            continue
        parts += [(False, text[end : match.start()]), (True, match[0])]
        end = match.end()
    return [*parts, (False, text[end:])]


if os.environ.get("FEDFLIP_SITE_DRAFT"):

    def on_config(config: Any, **_: Any) -> Any:
        """Leaves out pages that are not written yet."""

        def kept(items: list[Any]) -> list[Any]:
            found: list[Any] = []
            for item in items:
                for title, target in item.items():
                    if isinstance(target, list):
                        inner = kept(target)
                        found += [{title: inner}] if inner else []
                    elif target in INCLUDED or (ROOT / "docs" / target).is_file():
                        found.append(item)
            return found

        config.nav = kept(config.nav)
        return config
