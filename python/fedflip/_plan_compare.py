"""The plans of all schemes side by side."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, overload

from fedflip import _fedflip
from fedflip._arguments import text
from fedflip._errors import InputError
from fedflip._plan_html import html_paragraph, html_table

__all__ = ["PlanComparison", "Schemes", "schemes"]


class PlanComparison(Sequence[dict[str, Any]]):
    """One dict for each scheme: its numbers, or ``error`` and ``remedy`` where it has no plan.

    The keys are ``scheme``, ``status``, ``expected_participants``, ``sampling_variance``, ``rounds``, ``round_secs``,
    ``round_secs_error``, ``total_secs``, ``objective_p2_secs``, ``optimality_gap``, ``solve_secs`` and ``warnings``.

    Examples:
        >>> import fedflip as ff
        >>> comparison = ff.plan(ff.Fleet.paper(20, seed=7), bandwidth_mbps=100, alpha=28.5, beta=2.2).compare()
        >>> comparison["exact"]["status"]
        'optimal'
    """

    __slots__ = ("_columns", "_entries", "_remarks", "_rows", "_text", "_title")

    def __init__(self, native: Any) -> None:
        title, columns, rows, remarks, text, entries = native
        self._title: str = title
        self._columns: list[tuple[str, bool]] = columns
        self._rows: list[list[str]] = rows
        self._remarks: list[str] = remarks
        self._text: str = text
        self._entries: tuple[dict[str, Any], ...] = tuple(entries)

    @overload
    def __getitem__(self, index: int | str) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[dict[str, Any]]: ...
    def __getitem__(self, index: int | str | slice) -> dict[str, Any] | Sequence[dict[str, Any]]:
        if not isinstance(index, str):
            return self._entries[index] if isinstance(index, slice) else dict(self._entries[index])
        for entry in self._entries:
            if entry["scheme"] == index:
                return dict(entry)
        names = [entry["scheme"] for entry in self._entries]
        meant = _fedflip.nearest(text("scheme", index), names)
        raise InputError(
            f"scheme: the comparison has no scheme {index!r}",
            where="scheme",
            value=index,
            remedy=f"did you mean {meant}?" if meant else f"the schemes are {', '.join(names)}",
        )

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter([dict(entry) for entry in self._entries])

    def to_pandas(self) -> Any:
        """The comparison as a pandas DataFrame, one row per scheme."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise InputError(
                "to_pandas: pandas is not installed", where="to_pandas", remedy="pip install pandas"
            ) from None
        return pandas.DataFrame(list(self)).set_index("scheme")

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        table = html_table(self._columns, self._rows, caption=self._title)
        return table + html_paragraph(*self._remarks)


class Schemes(Sequence[str]):
    """Examples of the names of all schemes; printed, each stands beside a sentence."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[tuple[str, str, str]]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        names = [name for name, _, _ in self._rows]
        return names[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return "\n".join(f"{name:<20}{summary}" for name, summary, _ in self._rows)

    def _repr_html_(self) -> str:
        columns = [("scheme", False), ("summary", False), ("rule", False)]
        return html_table(columns, self._rows)


def schemes() -> Schemes:
    """The sampling schemes that :func:`plan` knows, with a sentence each.

    Examples:
        >>> import fedflip as ff
        >>> "auto" in ff.schemes()
        True
    """
    return Schemes(_fedflip.schemes())
