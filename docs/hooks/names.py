"""Gives the parts of the theme names that screen readers announce, where the theme leaves them out."""

from __future__ import annotations

from typing import Any

from mkdocs.exceptions import PluginError

NAMELESS = 'class="md-search" data-md-component="search" role="dialog"'


def on_post_page(output: str, **_: Any) -> str:
    """Names the dialog of the search."""
    if NAMELESS not in output:
        raise PluginError(f"the theme has changed: no page has `{NAMELESS}`")
    return output.replace(NAMELESS, f'{NAMELESS} aria-label="Search"')
