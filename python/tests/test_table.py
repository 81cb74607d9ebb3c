"""Tables: every reader of Arrow, numpy columns, texts, pickling and bad input."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import fedflip as ff
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from run_folders import resident_bytes

COLUMNS: dict[str, Any] = {
    "round": [1, 2, 3],
    "accuracy": [0.25, None, 0.5],
    "reached": [False, False, True],
    "name": ["phone", None, "läptop"],
    "secs": [0.1, 0.2, 0.3],
}


@pytest.fixture
def table() -> ff.Table:
    return ff.Table(COLUMNS)


def rows_of(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in which everything that is missing is None."""

    def plain(value: Any) -> Any:
        missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
        return None if missing else value

    return [{name: plain(value) for name, value in row.items()} for row in records]


def test_every_reader_gets_the_same_rows(table: ff.Table) -> None:
    expected = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    relation: Any = duckdb.sql('SELECT * FROM "table"')
    frames = {
        "pyarrow": pa.table(table).to_pylist(),
        "polars": pl.DataFrame(table).to_dicts(),
        "to_polars": table.to_polars().to_dicts(),
        "duckdb": [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()],
        "pandas": pd.DataFrame.from_arrow(table).to_dict("records"),
        "to_pandas": table.to_pandas().to_dict("records"),
    }
    for reader, rows in frames.items():
        assert rows_of(rows) == expected, reader


def test_a_constructor_that_does_not_read_arrow_says_what_to_do(table: ff.Table) -> None:
    for wrong in (pd.DataFrame, pd.Series, np.asarray, np.array):
        with pytest.raises(ff.InputError) as caught:
            wrong(table)
        assert caught.value.value is table and "table.to_pandas()" in caught.value.remedy
    assert pd.DataFrame(table.to_dict()).equals(table.to_pandas())


def test_types_and_missing_values_are_part_of_the_schema(table: ff.Table) -> None:
    schema = pa.schema(table)
    assert [str(field.type) for field in schema] == ["int64", "double", "bool", "large_string", "double"]
    assert [field.nullable for field in schema] == [False, True, False, True, False]
    assert pa.table(table).schema == schema
    assert list(table.to_pandas().dtypes)[:3] == [np.int64, np.float64, np.bool_]


def test_readers_share_the_memory(table: ff.Table) -> None:
    def address(name: str) -> int:
        return int(pa.table(table)[name].chunk(0).buffers()[1].address)

    for name in ("round", "secs"):
        frame = pl.DataFrame(table)[name].to_numpy(allow_copy=False)
        assert frame.__array_interface__["data"][0] == address(name) == address(name)


def test_a_stream_outlives_its_table() -> None:
    table = ff.Table({"x": np.arange(1000)})
    stream, shared = table.__arrow_c_stream__(), pa.table(table)
    del table
    gc.collect()
    assert pa.RecordBatchReader._import_from_c_capsule(stream).read_all().equals(shared)
    assert shared["x"].to_pylist() == list(range(1000))


def test_capsules_have_the_names_of_the_protocol(table: ff.Table) -> None:
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name_of(table.__arrow_c_schema__()) == b"arrow_schema"
    assert name_of(table.__arrow_c_stream__(requested_schema=None)) == b"arrow_array_stream"


def test_columns_are_read_only_arrays(table: ff.Table) -> None:
    assert (len(table), table.columns, list(table)) == (3, list(COLUMNS), list(COLUMNS))
    assert table["accuracy"].tolist()[::2] == [0.25, 0.5] and np.isnan(table["accuracy"][1])
    assert table["name"].tolist() == ["phone", None, "läptop"]
    assert [table[name].dtype for name in table] == [
        np.int64,
        np.float64,
        np.bool_,
        np.dtype(object),
        np.float64,
    ]
    assert table["round"] is table["round"] and "round" in table and "rounds" not in table
    for name, array in table.to_dict().items():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
        assert not array.flags.writeable, name
    frame = table.to_pandas()
    frame.loc[0, "round"] = 7
    assert table["round"][0] == 1, "a frame is the caller's own"
    with pytest.raises(AttributeError, match="immutable"):
        table.columns = []  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "hint"), [("acuracy", "did you mean 'accuracy'?"), ("zzz", "round, accuracy")]
)
def test_an_unknown_column_is_answered_with_the_nearest(table: ff.Table, name: str, hint: str) -> None:
    with pytest.raises(KeyError) as caught:
        table[name]
    assert hint in str(caught.value).replace('\\"', '"') and name in str(caught.value)


def test_pickles_keep_values_and_types(table: ff.Table) -> None:
    again = pickle.loads(pickle.dumps(table))
    assert pa.table(again).equals(pa.table(table), check_metadata=True)
    assert again.columns == table.columns


@pytest.mark.parametrize(
    ("columns", "where", "value", "remedy"),
    [
        ([1, 2], "columns", [1, 2], "give arrays or lists by name: {'round': [1, 2]}"),
        ({"a": [1, 2], "b": [1]}, "columns['b']", 1, "give columns of one length"),
        ({"a": [[1], [2]]}, "columns['a']", [[1], [2]], "give a list or an array with one dimension"),
        ({"a": [1j]}, "columns['a']", [1j], "give a list or an array with one dimension"),
    ],
)
def test_bad_columns_are_named(columns: Any, where: str, value: Any, remedy: str) -> None:
    with pytest.raises(ff.InputError) as caught:
        ff.Table(columns)
    assert (caught.value.where, caught.value.value, caught.value.remedy) == (where, value, remedy)


def test_no_rows_and_no_columns_are_tables_too() -> None:
    assert len(ff.Table({})) == 0 and repr(ff.Table({})) == "Table(0 rows, no columns)"
    empty = ff.Table({"a": [], "b": np.empty(0, dtype=np.int64)})
    assert pa.table(empty).num_rows == 0 and pl.DataFrame(empty).shape == (0, 2)
    assert repr(empty) == "a  b"


def test_integers_of_any_width_and_strides_are_taken() -> None:
    table = ff.Table(
        {"small": np.arange(6, dtype=np.uint8)[::2], "single": np.array([0.5, 1.5, np.nan], np.float32)}
    )
    assert table["small"].tolist() == [0, 2, 4] and table["small"].dtype == np.int64
    assert pa.table(table)["single"].to_pylist() == [0.5, 1.5, None]


def test_texts_show_the_first_and_the_last_rows() -> None:
    table = ff.Table(
        {"n": np.arange(100), "name": [f"<{n}>" for n in range(100)], "x": np.linspace(0, 1, 100)}
    )
    lines = repr(table).splitlines()
    assert lines[:3] == [" n  name         x", " 0  <0>          0", " 1  <1>   0.010101"]
    assert lines[6] == "… 90 more rows" and lines[-1] == "99  <99>         1" and len(lines) == 12
    page = table._repr_html_()
    assert "&lt;99&gt;" in page and "<0>" not in page and "100 rows" in page


WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import fedflip as ff
table = ff.Table({"round": [1, 2], "name": ["a", "b"], "loss": [0.5, None]})
try:
    frame = getattr(table, sys.argv[2])()
    print(frame.shape, frame["name"].tolist(), frame["round"].sum())
except ff.InputError as error:
    print(error.where, error.remedy)
"""


@pytest.mark.parametrize(
    ("missing", "method", "printed"),
    [
        ("pyarrow", "to_pandas", "(2, 3) ['a', 'b'] 3"),
        ("pandas", "to_pandas", "to_pandas pip install pandas"),
        ("polars", "to_polars", "to_polars pip install polars"),
    ],
)
def test_frames_need_their_own_package_alone(missing: str, method: str, printed: str) -> None:
    package = str(Path(ff.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing, method],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": package},
    )
    assert done.stdout.strip() == printed


def test_nothing_leaks_over_ten_thousand_reads() -> None:
    table = ff.Table({"x": np.arange(5000), "name": ["phone"] * 5000})

    def read(times: int) -> int:
        for number in range(times):
            pa.table(table)
            table.__arrow_c_stream__()
            table.__arrow_c_schema__()
            if number % 10 == 0:
                ff.Table({"x": table["x"]})["x"].sum()
        gc.collect()
        return resident_bytes()

    before = read(500)
    grown = read(10_000) - before
    assert grown < 8 << 20, f"{grown} bytes more: one stream that stays would be 40 kB or more"
