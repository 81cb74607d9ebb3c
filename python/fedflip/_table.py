"""Tables of runs, for pandas, polars, DuckDB, pyarrow and numpy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import listed, text
from fedflip._errors import InputError
from fedflip._nearest import nearest
from fedflip._plan_html import html_table

__all__ = ["Table"]

# A text or a page shows this many rows of the beginning, and as many of the end.
_SHOWN_ROWS = 5


@final
class Table:
    """Named columns of one length, which nobody can change.

    Programs that read Arrow take a table as it is: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``duckdb.sql("SELECT * FROM t")`` and ``pandas.DataFrame.from_arrow(t)``. The first three share its memory. For every
    version of pandas there is :meth:`to_pandas`; ``pandas.DataFrame(t)`` does not read Arrow, and is refused.

    Args:
        columns: Arrays or lists by name: whole numbers, numbers, booleans or words. NaN and None are missing values.

    Raises:
        InputError: The columns have different lengths, or a column holds something else. ``where`` names the column.

    Examples:
        >>> import fedflip as ff
        >>> table = ff.Table({"round": [1, 2, 3], "accuracy": [0.25, None, 0.5]})
        >>> table["accuracy"]
        array([0.25,  nan, 0.5 ])
        >>> table
        round  accuracy
            1      0.25
            2         –
            3       0.5
        >>> len(table), table.columns
        (3, ['round', 'accuracy'])
    """

    __slots__ = ("_arrays", "_native")

    _native: _fedflip.TableData
    _arrays: dict[str, npt.NDArray[Any]]

    def __init__(self, columns: Mapping[str, Any]) -> None:
        if not isinstance(columns, Mapping):
            raise InputError(
                f"columns is {type(columns).__name__}, and should be a dict",
                where="columns",
                value=columns,
                remedy="give arrays or lists by name: {'round': [1, 2]}",
            )
        names = [text("columns", str(name)) for name in columns]
        ready = [
            (name, *_native_values(name, values))
            for name, values in zip(names, columns.values(), strict=True)
        ]
        rows = len(ready[0][1]) if ready else 0
        for name, values, _ in ready:
            if len(values) != rows:
                raise InputError(
                    f"column {name!r} has {len(values)} values, and column {ready[0][0]!r} has {rows}",
                    where=f"columns[{name!r}]",
                    value=len(values),
                    remedy="give columns of one length",
                )
        self._set(_fedflip.TableData.from_columns(ready, rows))

    def _set(self, native: _fedflip.TableData) -> None:
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_arrays", {})

    @classmethod
    def _of(cls, native: _fedflip.TableData) -> Table:
        table = object.__new__(cls)
        table._set(native)
        return table

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a table is immutable: make another one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a table is immutable: {name} stays")

    def __reduce__(self) -> tuple[Any, ...]:
        columns = [(name, self._native.values(name), self._native.is_nullable(name)) for name in self.columns]
        return (_restored, (columns, len(self)))

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in their order."""
        return self._native.columns

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The values of a column as a read-only array; a missing number is NaN, a missing word is None.

        Raises:
            KeyError: There is no such column; the message names the nearest one.
        """
        known = self._arrays.get(name)
        if known is not None:
            return known
        if name not in self.columns:
            near = nearest(name, self.columns) if isinstance(name, str) else None
            hint = f"did you mean {near!r}?" if near else f"the columns are {', '.join(self.columns)}"
            raise KeyError(f"the table has no column {name!r}; {hint}")
        values = self._native.values(name)
        if isinstance(values, list):
            values = np.array(values, dtype=object)
            values.flags.writeable = False
        self._arrays[name] = values
        return values

    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Read-only numpy arrays by name."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self) -> Any:
        """A pandas DataFrame of one's own, which may be changed. pandas alone is enough, without pyarrow.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = _reader("pandas", "to_pandas")
        return pandas.DataFrame({name: array.copy() for name, array in self.to_dict().items()})

    def to_polars(self) -> Any:
        """A polars DataFrame over the same memory.

        Raises:
            InputError: polars is not installed.
        """
        return _reader("polars", "to_polars").DataFrame(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Refused: columns of different types are no array.

        ``pandas.DataFrame(table)`` asks for an array. Without this method it would take the names of the columns for rows.

        Raises:
            InputError: Always; ``remedy`` names the ways that work.
        """
        raise InputError(
            "a table is not an array: its columns have names, and types of their own",
            where="table",
            value=self,
            remedy="write table.to_pandas() for a DataFrame, table['name'] for the array of a column, or table.to_dict() "
            "for all arrays",
        )

    def __arrow_c_schema__(self) -> object:
        """The schema for readers of Arrow."""
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream over all rows for readers of Arrow, who share the memory of the table."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names, rows = self.columns, self._shown()
        if not names:
            return f"Table({len(self)} rows, no columns)"
        words = [self._is_words(name) for name in names]
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]

        def line(cells: list[str]) -> str:
            aligned = zip(cells, widths, words, strict=True)
            return "  ".join(
                cell.ljust(width) if left else cell.rjust(width) for cell, width, left in aligned
            ).rstrip()

        lines = [line(names), *(line(row) for row in rows)]
        if len(self) > len(rows):
            lines.insert(1 + _SHOWN_ROWS, f"… {len(self) - 2 * _SHOWN_ROWS} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self._shown()
        if len(self) > len(rows):
            rows.insert(_SHOWN_ROWS, ["…"] * len(self.columns))
        titles = [(name, not self._is_words(name)) for name in self.columns]
        count = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        return html_table(titles, rows, note=count)

    def _is_words(self, name: str) -> bool:
        return bool(self[name].dtype == object)

    def _shown(self) -> list[list[str]]:
        """The cells of the first and the last rows."""
        all_rows = range(len(self))
        shown = (
            all_rows
            if len(self) <= 2 * _SHOWN_ROWS + 1
            else [*all_rows[:_SHOWN_ROWS], *all_rows[-_SHOWN_ROWS:]]
        )
        arrays = list(self.to_dict().values())
        return [[_cell(array[row]) for array in arrays] for row in shown]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _native_values(name: str, values: Any) -> tuple[Any, bool]:
    """What the extension takes for a column, and whether values are missing."""
    where, remedy = f"columns[{name!r}]", "give a list or an array with one dimension"
    refusal = InputError(
        f"column {name!r} holds neither numbers of 64 bits, nor booleans, nor words",
        where=where,
        value=values,
        remedy=remedy,
    )
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        array = values
    else:
        items = listed(where, values, "a column", remedy=remedy)
        if items and all(item is None or isinstance(item, str) for item in items):
            return [text(where, item, optional=True) for item in items], any(item is None for item in items)
        try:
            array = np.asarray(
                [np.nan if item is None else item for item in items], dtype=None if items else np.float64
            )
        except (TypeError, ValueError):
            # Lists of different lengths.
            raise refusal from None
    is_too_large = array.dtype.kind == "u" and array.size > 0 and array.max() > np.iinfo(np.int64).max
    if array.ndim != 1 or array.dtype.kind not in "biuf" or is_too_large:
        raise refusal
    if array.dtype.kind == "f":
        numbers = array.astype(np.float64)
        return numbers, bool(np.isnan(numbers).any())
    return array.astype(np.bool_ if array.dtype.kind == "b" else np.int64), False


def _reader(module: str, where: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"{where}: {module} is not installed", where=where, remedy=f"pip install {module}"
        ) from None


def _restored(columns: list[tuple[str, Any, bool]], rows: int) -> Table:
    """Makes a table again in another process."""
    return Table._of(_fedflip.TableData.from_columns(columns, rows))
