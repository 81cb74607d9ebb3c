"""Fleets: every source, every column, and everything that is refused."""

from __future__ import annotations

import copy
import csv
import gc
import io
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import fedflip as ff
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fedflip._columns import columns_of

COLUMNS: dict[str, Any] = {
    "compute_secs": [2.0, 0.4, 1.5],
    "comm_secs": [7.0, 0.0, 3.0],
    "samples": [300.0, 100.0, 400.0],
}
NAMED: dict[str, Any] = {
    "device": ["phone", "laptop", "tablet"],
    **COLUMNS,
    "availability": [0.5, 1.0, 0.25],
    "link_mbps": [5.0, np.inf, 20.0],
    "snr_db": [10.0, -3.0, 0.0],
}


def arrays(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: values if name == "device" else np.array(values) for name, values in columns.items()}


def printed_columns(text: str) -> dict[str, Any]:
    """The columns of a printed CSV file, by another reader."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] if name == "device" else float(row[name]) for row in rows] for name in rows[0]}


SOURCES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "lists": lambda columns: columns,
    "numpy": arrays,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas transposed": lambda columns: pd.DataFrame(columns)[list(columns)[::-1]],
    "polars": pl.DataFrame,
    "polars lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "arrow": pa.table,
    "arrow batch": lambda columns: pa.table(columns).to_batches()[0],
    "arrow chunks": lambda columns: pa.concat_tables(
        [pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]
    ),
    "float32": lambda columns: {**arrays(columns), "samples": np.array(columns["samples"], np.float32)},
    "big-endian": lambda columns: {**arrays(columns), "samples": np.array(columns["samples"], ">f8")},
    "strided": lambda columns: {**arrays(columns), "samples": np.repeat(columns["samples"], 2)[::2]},
    "decimals": lambda columns: {**columns, "samples": [Decimal(int(value)) for value in columns["samples"]]},
}


@pytest.mark.parametrize("columns", [COLUMNS, NAMED], ids=["required", "all"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_fleet(source: str, columns: dict[str, Any]) -> None:
    fleet = ff.Fleet(SOURCES[source](columns))
    assert fleet == ff.Fleet(columns)
    assert len(fleet) == 3
    np.testing.assert_array_equal(fleet.compute_secs, columns["compute_secs"])
    np.testing.assert_array_equal(fleet.comm_secs, columns["comm_secs"])
    np.testing.assert_array_equal(fleet.data_shares, np.array([300, 100, 400]) / 800)
    if "device" in columns:
        assert fleet.names == ("phone", "laptop", "tablet")
        np.testing.assert_array_equal(fleet.availability, [0.5, 1.0, 0.25])
        np.testing.assert_array_equal(fleet.link_mbps, [5.0, np.inf, 20.0])
        np.testing.assert_array_equal(fleet.snr_db, [10.0, -3.0, 0.0])
    else:
        assert fleet.names == ("device-0", "device-1", "device-2")
        assert fleet.link_mbps is None and fleet.snr_db is None
        np.testing.assert_array_equal(fleet.availability, 1.0)


def test_tables_of_other_libraries_come_by_the_arrow_stream() -> None:
    frame = pd.DataFrame(COLUMNS)
    assert ff.Fleet(duckdb.query("select * from frame")) == ff.Fleet(COLUMNS)
    assert ff.Fleet(frame.to_records(index=False)) == ff.Fleet(COLUMNS)


def test_contiguous_columns_reach_the_native_code_without_a_copy() -> None:
    own = arrays(COLUMNS)
    assert all(columns_of(own)[name] is own[name] for name in COLUMNS)
    pandas, polars, arrow = pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)
    for name in COLUMNS:
        assert np.shares_memory(columns_of(pandas)[name], pandas[name].to_numpy())
        assert np.shares_memory(columns_of(polars)[name], polars[name].to_numpy(allow_copy=False))
        assert np.shares_memory(
            columns_of(arrow)[name], arrow.column(name).chunk(0).to_numpy(zero_copy_only=True)
        )


def test_the_memory_of_a_table_may_change_later() -> None:
    own = arrays(COLUMNS)
    fleet = ff.Fleet(own)
    own["samples"][:] = 1.0
    np.testing.assert_array_equal(fleet.samples, COLUMNS["samples"])


def test_columns_are_read_only_views_that_keep_their_owner_alive() -> None:
    fleet = ff.Fleet(COLUMNS)
    column = fleet.samples
    assert np.shares_memory(column, fleet.samples)
    assert not column.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1.0
    with pytest.raises(ValueError, match="WRITEABLE"):
        column.flags.writeable = True
    del fleet
    gc.collect()
    np.testing.assert_array_equal(column, COLUMNS["samples"])


def test_the_papers_fleet_is_that_of_the_command_line(command: Any) -> None:
    words = ["fleet", "new", "--devices", "100", "--seed", "7"]
    cases: list[tuple[str, dict[str, Any], list[str]]] = [
        ("paper", {}, []),
        (
            "wifi",
            {"payload_mbit": 3.5, "samples_total": 5000},
            ["--payload-mbit", "3.5", "--samples-total", "5000"],
        ),
        ("paper-calibrated", {"concentration": 2.0}, ["--concentration", "2"]),
        ("nb-iot", {"compute_gflop": 0.5}, ["--compute-gflop", "0.5"]),
    ]
    for profile, arguments, more in cases:
        printed = printed_columns(command(*words, "--profile", profile, *more))
        assert ff.Fleet.paper(100, seed=7, profile=profile, **arguments) == ff.Fleet(printed), profile


def test_files_are_read_and_written_as_the_command_line_does(tmp_path: Path, command: Any) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text(command("fleet", "new", "--devices", "7", "--seed", "3"))
    fleet = ff.Fleet(path)
    assert fleet == ff.Fleet(str(path)) == ff.Fleet.paper(7, seed=3)
    fleet.to_csv(tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_bytes() == path.read_bytes()
    summary = fleet.summary()
    assert repr(summary) == command("fleet", "show", str(path)).rstrip("\n")
    assert summary["samples"] == 4200.0 and summary["compute_secs"]["max"] == fleet.compute_secs.max()
    assert summary["least_variance"] == pytest.approx(np.sum(fleet.data_shares**2), rel=1e-14)


@pytest.mark.parametrize("drop", [True, False])
def test_an_index_of_pandas_may_have_the_names(drop: bool) -> None:
    frame, named = pd.DataFrame(NAMED), ff.Fleet(NAMED)
    assert ff.Fleet(frame.set_index("device", drop=drop)) == named
    assert ff.Fleet(frame.assign(site="north").set_index(["site", "device"], drop=drop)) == named
    assert ff.Fleet(pd.DataFrame(COLUMNS, index=pd.RangeIndex(3, name="device"))).names == ("0", "1", "2")
    assert ff.plan(frame.set_index("device"), bandwidth_mbps=10).fleet == named
    # An index with another name, or without one, is no column.
    for index in (range(10, 13), pd.Index(NAMED["device"], name="phone"), pd.Index(NAMED["device"])):
        assert ff.Fleet(pd.DataFrame(COLUMNS, index=index)) == ff.Fleet(COLUMNS)


def test_an_index_that_contradicts_a_column_is_refused() -> None:
    frame = pd.DataFrame(NAMED).set_index("device", drop=False)
    frame["device"] = NAMED["device"][::-1]
    with pytest.raises(ff.InputError, match="they differ") as refused:
        ff.Fleet(frame)
    assert refused.value.where == "device" and "reset_index" in refused.value.remedy


@pytest.mark.parametrize("columns", [COLUMNS, NAMED], ids=["required", "all"])
def test_fleets_survive_pickling_and_pandas(columns: dict[str, Any]) -> None:
    fleet = ff.Fleet(columns)
    for again in (pickle.loads(pickle.dumps(fleet)), copy.deepcopy(fleet), ff.Fleet(fleet.to_pandas())):
        assert again == fleet and hash(again) == hash(fleet)
    assert fleet != ff.Fleet({**columns, "samples": [1, 2, 3]})
    assert fleet != "a fleet" and copy.copy(fleet) is fleet


def test_fleets_are_immutable_and_print_themselves() -> None:
    fleet = ff.Fleet(NAMED)
    with pytest.raises(AttributeError):
        fleet.samples = np.ones(3)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del fleet._native
    assert repr(fleet) == "Fleet(3 devices: compute 0.4 to 2 s, send 0 to 7 s at 1 Mbit/s, 800 samples)"
    assert "laptop" in fleet._repr_html_() and "<table>" in fleet._repr_html_()
    script = ff.Fleet({**NAMED, "device": ["<script>", "b", "c"]})
    assert "<script>" not in script._repr_html_()
    assert "… and 90 more" in ff.Fleet.paper(100)._repr_html_()


def test_a_fleet_draws_itself() -> None:
    import matplotlib

    matplotlib.use("Agg")
    figure = ff.Fleet.paper(100, seed=7).plot()
    assert len(figure.axes) == 3 and figure.axes[2].get_xlabel() == "samples"
    assert sum(bar.get_height() for bar in figure.axes[2].patches) == 100
    ff.Fleet(COLUMNS).plot()


def test_a_picture_without_matplotlib_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(COLUMNS).plot()
    assert refused.value.remedy == "pip install matplotlib"


def without(name: str) -> dict[str, Any]:
    return {other: values for other, values in COLUMNS.items() if other != name}


MEASURE = "give the measured value; a missing one is never taken for 0"
CONVERT = "convert the column to numbers such as 12 or 0.35"
BAD_SOURCES: list[tuple[Any, str, Any, str]] = [
    (pd.DataFrame(without("samples")), "samples", ["compute_secs", "comm_secs"], "a fleet has the columns"),
    ({**without("compute_secs"), "compute_sec": [1, 2, 3]}, "compute_secs", ..., "did you mean compute_sec?"),
    ({**COLUMNS, "availabilty": [1, 1, 1]}, "availabilty", "availabilty", "did you mean availability?"),
    (
        {**COLUMNS, "comm_secs": [1, -2.5, 3]},
        "comm_secs, row 1",
        -2.5,
        "it must be a time from 0 to 1e9 seconds",
    ),
    ({**COLUMNS, "samples": [1, 2, 0]}, "samples, row 2", 0.0, "it must be a sample count above 0"),
    ({**COLUMNS, "availability": [1, 1.5, 1]}, "availability, row 1", 1.5, "it must be a probability"),
    ({**COLUMNS, "link_mbps": [1, 0, 1]}, "link_mbps, row 1", 0.0, "it must be a bandwidth above 0"),
    ({**COLUMNS, "samples": [1, 2]}, "compute_secs", 3, "give every column one entry per device"),
    ({**COLUMNS, "device": ["a", "b"]}, "device", 2, "give every column one entry per device"),
    ({**COLUMNS, "device": ["a", "b", "a"]}, "device, row 2", "a", "give every device a name of its own"),
    ({**COLUMNS, "device": ["a", None, "c"]}, "device, row 1", None, "give every device a name"),
    ({**COLUMNS, "device": ["a", "b", ""]}, "device, row 2", "", "a name has 1 to 256 bytes"),
    (pd.DataFrame({**COLUMNS, "samples": ["300", "100", "x"]}), "samples, row 0", "300", CONVERT),
    (pd.DataFrame({**COLUMNS, "samples": [1, "x", 3]}), "samples, row 1", "x", CONVERT),
    (pl.DataFrame({**COLUMNS, "samples": ["300", "100", "x"]}), "samples, row 0", "300", CONVERT),
    (pa.table({**COLUMNS, "samples": ["300", "100", "x"]}), "samples, row 0", "300", CONVERT),
    ({**COLUMNS, "samples": [True, False, True]}, "samples, row 0", True, CONVERT),
    ({**COLUMNS, "samples": [1, None, 3]}, "samples, row 1", None, MEASURE),
    (pd.DataFrame({**COLUMNS, "samples": [1, None, 3]}).convert_dtypes(), "samples, row 1", None, MEASURE),
    (pl.DataFrame({**COLUMNS, "samples": [1, 2, None]}), "samples, row 2", None, MEASURE),
    (pa.table({**COLUMNS, "samples": [None, 2, 3]}), "samples, row 0", None, MEASURE),
    (
        {**COLUMNS, "samples": np.ma.array([1.0, 2, 3], mask=[False, False, True])},
        "samples, row 2",
        None,
        MEASURE,
    ),
    ({**COLUMNS, "samples": np.ones((3, 1))}, "samples", (3, 1), "give one number per device"),
    ({**COLUMNS, "samples": 600}, "samples", (), "give one number per device"),
    ({**COLUMNS, "samples": [[1], [2, 3], [4]]}, "samples", ..., CONVERT),
    (pd.DataFrame([[1, 2, 3, 4]], columns=[*COLUMNS, "samples"]), "samples", 3, "keep one of the two"),
    (
        pd.DataFrame({**COLUMNS, "samples": pd.to_timedelta([1, 2, 3], unit="s")}),
        "samples",
        ...,
        "convert durations",
    ),
    (pl.DataFrame(COLUMNS).with_columns(samples=pl.duration(seconds=3)), "samples", ..., "convert durations"),
    ({**COLUMNS, "samples": np.array([1j, 2j, 3j])}, "samples, row 0", 1j, CONVERT),
    (42, "source", 42, "give a pandas, polars or Arrow table"),
    (None, "source", None, "give a pandas, polars or Arrow table"),
]


@pytest.mark.parametrize(("source", "where", "value", "remedy"), BAD_SOURCES)
def test_bad_tables_are_refused_with_place_value_and_remedy(
    source: Any, where: str, value: Any, remedy: str
) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(source)
    error = refused.value
    assert error.where == where and where.split(",")[0] in str(error)
    assert value is ... or error.value == value
    assert error.remedy.startswith(remedy), error.remedy


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_a_missing_number_is_never_taken_for_zero(frame: Any) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(frame({**COLUMNS, "comm_secs": [1.0, 2.0, float("nan")]}))
    assert refused.value.where == "comm_secs, row 2" and np.isnan(refused.value.value)
    assert refused.value.remedy == MEASURE


def test_an_empty_table_has_no_devices() -> None:
    with pytest.raises(ff.InputError, match="no devices"):
        ff.Fleet(pd.DataFrame({name: [] for name in COLUMNS}))


def test_bad_files_are_refused_with_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(tmp_path / "none.csv")
    assert refused.value.where == str(tmp_path / "none.csv")
    path = tmp_path / "fleet.csv"
    path.write_text("device,compute_secs,comm_secs,samples\na,1,2,3\nb,1,-2,3\n")
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(path)
    assert refused.value.where == f"{path}, line 3, column comm_secs" and refused.value.value == "-2"
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet(COLUMNS).to_csv(tmp_path / "none" / "fleet.csv")
    assert refused.value.where == "path"


@pytest.mark.parametrize(
    ("arguments", "where", "value", "remedy"),
    [
        ({"profile": "wify"}, "profile", "wify", "did you mean wifi?"),
        ({"profile": 3}, "profile", 3, "give text"),
        ({"devices": 0}, "devices", 0, "add at least one device"),
        ({"devices": -1}, "devices", -1, "give a whole number"),
        ({"devices": 2.5}, "devices", 2.5, "give a whole number"),
        ({"seed": True}, "seed", True, "give a whole number"),
        ({"payload_mbit": -1.0}, "payload_mbit", -1.0, "it must be an amount"),
        ({"payload_mbit": "0.7"}, "payload_mbit", "0.7", "give a number"),
        ({"concentration": 0.0}, "concentration", 0.0, "it must be a number from 0.01"),
        ({"samples_total": 5}, "samples_total", 5, ""),
        ({"compute_gflop": 1.0, "profile": "paper-calibrated"}, "compute_gflop", None, "leave it out"),
    ],
)
def test_bad_arguments_of_profiles_are_refused(arguments: Any, where: str, value: Any, remedy: str) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.Fleet.paper(**{"devices": 10, **arguments})
    assert (refused.value.where, refused.value.value) == (where, value)
    assert refused.value.remedy.startswith(remedy)
