"""What a fleet is like, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedflip._plan_html import html_text

__all__ = ["FleetSummary"]


class FleetSummary(Mapping[str, Any]):
    """The ranges of a fleet's columns by name; printed, it shows histograms and device types.

    Keys are ``devices``, ``samples``, ``least_variance``, ``effective_devices``, and for each column a dict of
    ``min``, ``mean`` and ``max``.

    Examples:
        >>> import fedflip as ff
        >>> summary = ff.Fleet.paper(100, seed=7).summary()
        >>> summary["devices"], summary["samples"]
        (100, 60000.0)
    """

    __slots__ = ("_text", "_values")

    def __init__(self, values: dict[str, Any], text: str) -> None:
        self._values = values
        self._text = text

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return html_text(self._text)
