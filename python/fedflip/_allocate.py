"""The bandwidth of one round, divided among its cohort."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import flag, listed, number, text, wrong
from fedflip._errors import InputError
from fedflip._fleet import as_fleet
from fedflip._plan_html import html_table

__all__ = ["Allocation", "allocate"]

_COLUMNS = ("position", "compute_secs", "mbps", "upload_secs", "finish_secs")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation:
    """The shares of the devices of one round, as columns.

    Attributes:
        round_secs: The time at which the last device finishes.
        other_round_secs: The round with the other rule: equal shares if these are adaptive, and otherwise
            adaptive shares.
        equal: Whether every device has the same share.
        device: The names of the devices.
        position: Their positions in the fleet, in ascending order.
        mbps: The rate of each device.
        compute_secs: The seconds that each device computes.
        upload_secs: The seconds of each upload.
        finish_secs: The time at which each device is done.
    """

    round_secs: float
    other_round_secs: float
    equal: bool
    device: tuple[str, ...]
    position: npt.NDArray[np.int64]
    mbps: npt.NDArray[np.float64]
    compute_secs: npt.NDArray[np.float64]
    upload_secs: npt.NDArray[np.float64]
    finish_secs: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.device)

    def columns(self) -> dict[str, Any]:
        """The columns by name."""
        return {"device": self.device, **{name: getattr(self, name) for name in _COLUMNS}}

    def to_pandas(self) -> Any:
        """The shares as a pandas DataFrame, one row per device."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise InputError(
                "to_pandas: pandas is not installed", where="to_pandas", remedy="pip install pandas"
            ) from None
        return pandas.DataFrame({name: list(column) for name, column in self.columns().items()})

    def _rows(self) -> list[list[str]]:
        return [
            [name, *(f"{getattr(self, column)[row]:.4g}" for column in _COLUMNS)]
            for row, name in enumerate(self.device)
        ]

    def _sentence(self) -> str:
        ways = ("equal shares", "adaptive shares") if self.equal else ("adaptive shares", "equal shares")
        return (
            f"The round takes {self.round_secs:.4g} s with {ways[0]}; "
            f"with {ways[1]} it would take {self.other_round_secs:.4g} s."
        )

    def __repr__(self) -> str:
        table = [["device", *_COLUMNS], *self._rows()]
        widths = [max(len(row[at]) for row in table) for at in range(len(_COLUMNS) + 1)]
        lines = [
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in table
        ]
        return "\n".join([*lines, "", self._sentence()])

    def _repr_html_(self) -> str:
        columns = [("device", False), *((name, True) for name in _COLUMNS)]
        return html_table(columns, self._rows(), note=self._sentence())


def _member(where: str, value: Any) -> Any:
    """A device of a cohort. The native code knows which there are; a mask would be positions 0 and 1."""
    if isinstance(value, bool):
        raise wrong(where, value, "a name or a position", "give positions of a mask: numpy.flatnonzero(mask)")
    return text(where, value) if isinstance(value, str) else value


def allocate(
    fleet: Any,
    cohort: Iterable[int | str],
    *,
    bandwidth_mbps: float | None = None,
    spectrum_mhz: float | None = None,
    equal: bool = False,
) -> Allocation:
    """Shares the bandwidth among the devices of one round, so that all of them finish together.

    Args:
        fleet: A :class:`Fleet`, or anything that one can be made from.
        cohort: The devices of the round: positions in the fleet from 0, or names.
        bandwidth_mbps: The bandwidth that they share.
        spectrum_mhz: The spectrum that they share instead; the fleet needs the column ``snr_db``.
        equal: Whether every device gets the same share instead.

    Raises:
        InputError: A device is not in the fleet or occurs twice, or there is no bandwidth.

    Examples:
        >>> import fedflip as ff
        >>> fleet = ff.Fleet({"compute_secs": [2.0, 1.0], "comm_secs": [10.0, 10.0], "samples": [300, 100]})
        >>> shares = ff.allocate(fleet, [0, 1], bandwidth_mbps=10)
        >>> bool(abs(shares.finish_secs[0] - shares.finish_secs[1]) < 1e-9)
        True
    """
    devices = as_fleet(fleet)
    remedy = "give positions or names, such as [3, 7] or plan.sample(round=1, seed=1)"
    members = listed("cohort", cohort, "a list of devices", each=_member, remedy=remedy)
    shares = _fedflip.allocate(
        devices._native,
        members,
        number("bandwidth_mbps", bandwidth_mbps, optional=True),
        number("spectrum_mhz", spectrum_mhz, optional=True),
        flag("equal", equal),
    )
    position = shares["device"]
    columns = {name: shares[name] for name in _COLUMNS if name != "position"}
    for column in (position, *columns.values()):
        column.flags.writeable = False
    return Allocation(
        round_secs=shares["round_secs"],
        other_round_secs=shares["other_round_secs"],
        equal=bool(equal),
        device=tuple(devices._native.name(at) for at in position.tolist()),
        position=position,
        **columns,
    )
