"""The nearest right name for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest"]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant; None if no name is near.

    Examples:
        >>> nearest("bandwith", ["bandwidth", "batch"])
        'bandwidth'
    """
    close = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return close[0] if close else None
