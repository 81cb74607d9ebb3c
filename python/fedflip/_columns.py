"""Columns of a fleet from tables of other libraries, without a copy where the memory allows it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip._errors import InputError
from fedflip._fedflip import nearest

NAME = "device"
REQUIRED = ("compute_secs", "comm_secs", "samples")
OPTIONAL = ("availability", "link_mbps", "snr_db")
HEADER = "compute_secs, comm_secs, samples and, optionally, device, availability, link_mbps and snr_db"

_MISSING = "give the measured value; a missing one is never taken for 0"
_NUMBERS = "convert the column to numbers such as 12 or 0.35"
# Unknown columns that are as similar as this to an optional one are taken for misspelt ones.
_LIKENESS_MIN = 0.75


def columns_of(source: Any) -> dict[str, Any]:
    """The columns of a table: float64 arrays by name, and a list of names or None."""
    table = _by_name(source)
    _check_names(table)
    columns: dict[str, Any] = {NAME: _names(table[NAME]) if NAME in table else None}
    for name in REQUIRED + OPTIONAL:
        columns[name] = _numbers(name, table[name]) if name in table else None
    return columns


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _by_name(source: Any) -> Mapping[str, Any]:
    """The columns of a table as its library has them."""
    if isinstance(source, Mapping):
        return {str(name): column for name, column in source.items()}
    library = _library(source)
    if library == "pandas" and hasattr(source, "columns"):
        columns = {str(name): source.iloc[:, at] for at, name in _once(source.columns)}
        return _with_index(columns, source.index)
    if library == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if library == "polars" and hasattr(source, "columns"):
        return {name: source[name] for name in source.columns}
    if isinstance(source, np.ndarray) and source.dtype.names is not None:
        return {name: source[name] for name in source.dtype.names}
    if library != "pyarrow" and hasattr(source, "__arrow_c_stream__"):
        source = _pyarrow("pyarrow", source).table(source)
    elif library != "pyarrow" and hasattr(source, "__dataframe__"):
        source = _pyarrow("pyarrow.interchange", source).from_dataframe(source)
    if hasattr(source, "column_names") and hasattr(source, "column"):
        return {str(name): source.column(at) for at, name in _once(source.column_names)}
    if hasattr(source, "schema") and hasattr(source, "column"):
        return {str(name): source.column(at) for at, name in _once(source.schema.names)}
    raise InputError(
        f"source: a fleet cannot be made from {type(source).__name__}",
        where="source",
        value=source,
        remedy="give a pandas, polars or Arrow table, a dict of columns, or the path of a CSV file",
    )


def _with_index(columns: dict[str, Any], index: Any) -> dict[str, Any]:
    """The columns of a pandas DataFrame, and the names of devices if they are its index or a level of it."""
    if NAME not in index.names:
        return columns
    names = index.get_level_values(NAME)
    if NAME in columns and list(columns[NAME]) != list(names):
        raise InputError(
            "device: the index and a column have this name, and they differ",
            where=NAME,
            value=names,
            remedy="keep one of the two: frame.reset_index(drop=True) drops the index",
        )
    return {**columns, NAME: names}


def _pyarrow(module: str, source: Any) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"source: reading {type(source).__name__} needs pyarrow, which is not installed",
            where="source",
            value=source,
            remedy="pip install pyarrow, or give a dict of columns",
        ) from None


def _once(names: Iterable[Any]) -> Iterable[tuple[int, Any]]:
    """Positions and names of columns, each of which may occur once."""
    known: set[str] = set()
    for at, name in enumerate(names):
        if str(name) in known:
            raise InputError(
                f"{name}: the column occurs twice", where=str(name), value=at, remedy="keep one of the two"
            )
        known.add(str(name))
        yield at, name


def _check_names(table: Mapping[str, Any]) -> None:
    given = list(table)
    for name in REQUIRED:
        if name not in table:
            meant = nearest(name, [other for other in given if other not in REQUIRED + OPTIONAL])
            rename = f"did you mean {meant}? Rename it to {name}; " if meant else ""
            raise InputError(
                f"{name}: the column is missing",
                where=name,
                value=given,
                remedy=f"{rename}a fleet has the columns {HEADER}",
            )
    if len(given) == len(set(given) & {NAME, *REQUIRED, *OPTIONAL}):
        return
    import difflib

    absent = [name for name in (NAME, *OPTIONAL) if name not in table]
    for name in given:
        near = difflib.get_close_matches(name.lower(), absent, n=1, cutoff=_LIKENESS_MIN)
        near = near or [other for other in absent if len(name) > 2 and other.startswith(name.lower())]
        if name not in (NAME, *REQUIRED, *OPTIONAL) and near:
            raise InputError(
                f"{name}: this is not a column of a fleet",
                where=name,
                value=name,
                remedy=f"did you mean {near[0]}? Rename or drop the column",
            )


def _place(column: str, row: int) -> str:
    return f"{column}, row {row}"


def _missing(column: str, row: int, value: Any = None) -> InputError:
    place = _place(column, row)
    return InputError(f"{place}: the value is missing", where=place, value=value, remedy=_MISSING)


def _no_number(column: str, row: int, value: Any) -> InputError:
    place = _place(column, row)
    return InputError(f"{place}: {value!r} is not a number", where=place, value=value, remedy=_NUMBERS)


def _names(column: Any) -> list[Any]:
    """The names of devices; whole numbers become text, and anything else is refused by the fleet."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values = getattr(column, method)()
            break
    else:
        values = list(column)
    if not isinstance(values, list):
        raise InputError(
            "device: the names are not a column", where=NAME, value=values, remedy="give one name per device"
        )
    return [_text(value) for value in values]


def _text(name: Any) -> Any:
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def _numbers(name: str, column: Any) -> npt.NDArray[np.float64]:
    """A column as float64. Contiguous float64 memory stays where it is."""
    library = _library(column)
    if library == "pandas":
        array = _from_pandas(name, column)
    elif library == "polars":
        array = _from_polars(name, column)
    elif library == "pyarrow":
        array = _from_arrow(name, column)
    else:
        array = _from_any(name, column)
    if array.ndim != 1:
        raise InputError(
            f"{name}: the column has the shape {array.shape}",
            where=name,
            value=array.shape,
            remedy="give one number per device",
        )
    if array.dtype.kind in "fiu":
        # Columns of packed records need not be aligned, as native code wants them.
        return np.require(array, np.float64, "A")
    if array.dtype.kind in "mM":
        raise InputError(
            f"{name}: the column holds {array.dtype}, not numbers",
            where=name,
            value=str(array.dtype),
            remedy="convert durations to seconds, such as column.dt.total_seconds()",
        )
    return _from_objects(name, array)


def _from_pandas(name: str, column: Any) -> npt.NDArray[Any]:
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    missing = column.isna().to_numpy()
    if missing.any():
        raise _missing(name, int(missing.argmax()))
    return np.asarray(column.to_numpy())


def _from_polars(name: str, column: Any) -> npt.NDArray[Any]:
    if column.null_count() > 0:
        raise _missing(name, int(column.is_null().arg_max()))
    return np.asarray(column.to_numpy())


def _from_arrow(name: str, column: Any) -> npt.NDArray[Any]:
    if column.null_count > 0:
        raise _missing(name, int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))))
    chunks = getattr(column, "chunks", [column])
    if len(chunks) == 1:
        return np.asarray(chunks[0].to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy())


def _from_any(name: str, column: Any) -> npt.NDArray[Any]:
    if isinstance(column, np.ma.MaskedArray) and np.ma.getmaskarray(column).any():
        raise _missing(name, int(np.ma.getmaskarray(column).argmax()))
    try:
        return np.asarray(column)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name}: the column is not an array of numbers: {error}",
            where=name,
            value=column,
            remedy=_NUMBERS,
        ) from None


def _from_objects(name: str, array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Numbers that are Python objects, each of which is looked at."""
    from decimal import Decimal

    for row, value in enumerate(array.tolist()):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise _missing(name, row, value)
        if isinstance(value, bool) or not isinstance(value, Real | Decimal):
            raise _no_number(name, row, value)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: {error}", where=name, value=array, remedy=_NUMBERS) from None
