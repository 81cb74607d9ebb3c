"""Shows the names that docstrings mark in the way of Sphinx, such as ``:class:`Plan```, as code."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):(?=<code>)")


def on_page_content(content: str, **_: Any) -> str:
    """Leaves the role out."""
    return ROLE.sub("", content)
