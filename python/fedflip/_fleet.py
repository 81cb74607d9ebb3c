"""Fleets: the devices that may take part, and what they cost."""

from __future__ import annotations

import importlib
import os
from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count, number, path_text, text
from fedflip._columns import NAME, OPTIONAL, REQUIRED, columns_of
from fedflip._errors import InputError
from fedflip._fleet_summary import FleetSummary
from fedflip._plan_html import html_table

__all__ = ["Fleet"]

# A notebook shows this many devices.
_SHOWN_DEVICES = 10


@final
class Fleet:
    """The devices that may take part in training: times, samples and links.

    A fleet is immutable. It keeps one copy of the numbers, because the memory of a table may change later.

    Columns:
        compute_secs: The seconds of local computation in one round.
        comm_secs: The seconds of one upload at 1 Mbit/s, which is the payload in Mbit.
        samples: The number of training samples.
        device: The name of the device, unique in the fleet. By default ``device-0``, ``device-1`` and so on.
        availability: The share of rounds in which the device can be reached, by default 1.
        link_mbps: The largest rate of the device's own link; infinite for a link without a limit.
        snr_db: The signal-to-noise ratio over the whole spectrum, which ``spectrum_mhz`` needs.

    Args:
        source: A pandas or polars DataFrame, an Arrow table (or anything with ``__arrow_c_stream__``), a dict of
            arrays or lists, or the path of a CSV file as the command line reads it. The index of a pandas DataFrame is
            the column ``device`` if it has this name. Other columns are ignored.

    Raises:
        InputError: A column is missing, or a value is missing, is not a number, or is out of range. ``where``
            names the column and the row.

    Examples:
        >>> import fedflip as ff
        >>> fleet = ff.Fleet({"compute_secs": [2.0, 0.4], "comm_secs": [7.0, 7.0], "samples": [300, 100]})
        >>> len(fleet)
        2
        >>> fleet.data_shares
        array([0.75, 0.25])
    """

    __slots__ = ("_native", "_source")

    _native: _fedflip.Fleet
    _source: str

    def __init__(self, source: Any) -> None:
        if isinstance(source, Fleet):
            self._set(source._native, source._source)
        elif isinstance(source, str | os.PathLike):
            path = path_text("source", source)
            self._set(_fedflip.Fleet.read(path), path)
        else:
            self._set(_fedflip.Fleet.from_columns(columns_of(source)), "fleet")

    def _set(self, native: _fedflip.Fleet, source: str) -> None:
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_source", source)

    @classmethod
    def _of(cls, native: _fedflip.Fleet, source: str = "fleet") -> Fleet:
        fleet = object.__new__(cls)
        fleet._set(native, source)
        return fleet

    @classmethod
    def paper(
        cls,
        devices: int = 100,
        *,
        seed: int = 0,
        profile: str = "paper",
        payload_mbit: float = 0.7,
        compute_gflop: float | None = None,
        samples_total: int | None = None,
        concentration: float | None = None,
    ) -> Fleet:
        """Makes the fleet of the paper's prototype, or of another profile, as ``fedflip fleet new`` does.

        Args:
            devices: The number of devices, in equal blocks of each type.
            seed: The seed of samples and links; the same seed gives the same fleet.
            profile: Device types, compute times and links: ``paper``, ``paper-calibrated``, ``wifi``, ``4g`` or
                ``nb-iot``.
            payload_mbit: The size of an upload in Mbit; 21,840 parameters of 32 bit are 0.7.
            compute_gflop: The work of a local update, in 10⁹ operations; by default 0.92.
            samples_total: The samples of all devices together, by default 600 per device.
            concentration: The concentration of the Dirichlet distribution that splits the samples: small is skewed.

        Examples:
            >>> import fedflip as ff
            >>> ff.Fleet.paper(100, seed=7).names[20]
            'honor-play-6t-00'
        """
        arguments = {
            "devices": count("devices", devices),
            "seed": count("seed", seed),
            "profile": text("profile", profile),
            "payload_mbit": number("payload_mbit", payload_mbit),
            "compute_gflop": number("compute_gflop", compute_gflop, optional=True),
            "samples_total": count("samples_total", samples_total, optional=True),
            "concentration": number("concentration", concentration, optional=True),
        }
        return cls._of(_fedflip.Fleet.paper(arguments))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a fleet is immutable: make another one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a fleet is immutable: {name} stays")

    def __len__(self) -> int:
        return len(self._native)

    def __eq__(self, other: object) -> bool:
        return self._native == other._native if isinstance(other, Fleet) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self), self._native.name(0), float(self.samples[0])))

    def __copy__(self) -> Fleet:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Fleet:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, ({NAME: list(self.names), **self._numbers()}, self._source))

    def _column(self, name: str) -> npt.NDArray[np.float64]:
        return np.asarray(self._native.column(name))

    def _optional(self, name: str) -> npt.NDArray[np.float64] | None:
        column = self._native.column(name)
        return None if column is None else np.asarray(column)

    def _numbers(self) -> dict[str, npt.NDArray[np.float64] | None]:
        return {name: self._optional(name) for name in REQUIRED + OPTIONAL}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all devices."""
        return tuple(self._native.names())

    @property
    def compute_secs(self) -> npt.NDArray[np.float64]:
        """The seconds of local computation in one round, as a read-only view."""
        return self._column("compute_secs")

    @property
    def comm_secs(self) -> npt.NDArray[np.float64]:
        """The seconds of one upload at 1 Mbit/s, as a read-only view."""
        return self._column("comm_secs")

    @property
    def samples(self) -> npt.NDArray[np.float64]:
        """The number of training samples, as a read-only view."""
        return self._column("samples")

    @property
    def data_shares(self) -> npt.NDArray[np.float64]:
        """Each device's share of all samples, as a read-only view; the shares sum to one."""
        return self._column("data_shares")

    @property
    def availability(self) -> npt.NDArray[np.float64]:
        """The share of rounds in which each device can be reached, as a read-only view: the cap on its q."""
        return self._column("availability")

    @property
    def link_mbps(self) -> npt.NDArray[np.float64] | None:
        """The limits of the devices' own links, as a read-only view; None if no link has one."""
        return self._optional("link_mbps")

    @property
    def snr_db(self) -> npt.NDArray[np.float64] | None:
        """The signal-to-noise ratios, as a read-only view; None if they are unknown."""
        return self._optional("snr_db")

    def columns(self) -> dict[str, Any]:
        """The columns by name: a tuple of names and read-only views. Columns that no device has are left out."""
        numbers = {name: column for name, column in self._numbers().items() if column is not None}
        return {NAME: self.names, **numbers}

    def to_pandas(self) -> Any:
        """The devices as a pandas DataFrame, one row per device. ``Fleet(frame)`` is an equal fleet."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise InputError(
                "to_pandas: pandas is not installed", where="to_pandas", remedy="pip install pandas"
            ) from None
        return pandas.DataFrame(
            {name: list(column) if name == NAME else column for name, column in self.columns().items()}
        )

    def with_samples(self, samples: Any) -> Fleet:
        """The same devices with other numbers of samples, such as those of a learner.

        Examples:
            >>> Fleet.paper(3, seed=1).with_samples([10, 20, 30]).samples.tolist()
            [10.0, 20.0, 30.0]
        """
        if hasattr(samples, "__len__") and len(samples) != len(self):
            raise InputError(
                f"samples: there are {len(samples)} numbers, and {len(self)} devices",
                where="samples",
                value=samples,
                remedy="give one number of samples for each device",
            )
        columns = {name: column for name, column in self.columns().items() if column is not None}
        return Fleet({**columns, "samples": samples})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the fleet as a CSV file, which ``Fleet(path)`` and the command line read."""
        self._native.to_csv(path_text("path", path))

    def summary(self) -> FleetSummary:
        """Ranges of all columns, histograms and device types, as ``fedflip fleet show`` has them."""
        import json

        values, shown = self._native.summary(self._source)
        return FleetSummary(json.loads(values), shown)

    def plot(self) -> Any:
        """Draws the distribution of compute times, upload times and samples, and returns the figure.

        Raises:
            InputError: matplotlib is not installed.
        """
        from fedflip._fleet_plot import plot_fleet

        return plot_fleet(self)

    def __repr__(self) -> str:
        devices = "1 device" if len(self) == 1 else f"{len(self)} devices"
        compute, comm, samples = _range(self.compute_secs), _range(self.comm_secs), float(self.samples.sum())
        return f"Fleet({devices}: compute {compute} s, send {comm} s at 1 Mbit/s, {samples:.15g} samples)"

    def _repr_html_(self) -> str:
        shown = min(len(self), _SHOWN_DEVICES)
        numbers = {name: column for name, column in self._numbers().items() if column is not None}
        titles = [(NAME, False)] + [(name, True) for name in numbers]
        rows = [
            [self._native.name(row)] + [f"{column[row]:.4g}" for column in numbers.values()]
            for row in range(shown)
        ]
        more = f"… and {len(self) - shown} more" if shown < len(self) else ""
        return html_table(titles, rows, caption=repr(self), note=more)


def _range(values: npt.NDArray[np.float64]) -> str:
    low, high = values.min(), values.max()
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _restored(columns: dict[str, Any], source: str) -> Fleet:
    """Makes a fleet again in another process."""
    return Fleet._of(_fedflip.Fleet.from_columns(columns), source)


def as_fleet(fleet: Any) -> Fleet:
    """The argument ``fleet``: a fleet, or anything that a fleet can be made from."""
    if isinstance(fleet, Fleet):
        return fleet
    try:
        return Fleet(fleet)
    except InputError as error:
        if error.where == "source":
            error.problem, error.where = f"fleet{error.problem.removeprefix('source')}", "fleet"
        raise
