"""Arguments of the planner: types are checked here, ranges in the native code."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from fedflip._errors import InputError

Pilots = Iterable[str | tuple[float, str]]
"""Pilots such as ``["155:uniform", (13, "full")]``: rounds to the same loss under a baseline scheme."""

_PILOT = 'write "18:uniform", or (18, "uniform"); "500+:uniform" if the pilot gave up after 500 rounds'


def _wrong(where: str, value: Any, wanted: str) -> InputError:
    return InputError(
        f"{where}: {value!r} is not {wanted}", where=where, value=value, remedy=f"give {wanted}"
    )


@overload
def number(where: str, value: Any, *, optional: Literal[False] = False) -> float: ...
@overload
def number(where: str, value: Any, *, optional: Literal[True]) -> float | None: ...
def number(where: str, value: Any, *, optional: bool = False) -> float | None:
    """A number, or None where the argument may be left out."""
    if value is None and optional:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise _wrong(where, value, "a number")
    return float(value)


@overload
def count(where: str, value: Any, *, optional: Literal[False] = False, least: int = 0) -> int: ...
@overload
def count(where: str, value: Any, *, optional: Literal[True], least: int = 0) -> int | None: ...
def count(where: str, value: Any, *, optional: bool = False, least: int = 0) -> int | None:
    """A whole number that fits into 64 bits, or None where the argument may be left out."""
    if value is None and optional:
        return None
    wanted = f"a whole number from {least} to {2**64 - 1}"
    try:
        whole = operator.index(value)
    except TypeError:
        raise _wrong(where, value, wanted) from None
    if isinstance(value, bool) or not least <= whole < 2**64:
        raise _wrong(where, value, wanted)
    return whole


@overload
def text(where: str, value: Any, *, optional: Literal[False] = False) -> str: ...
@overload
def text(where: str, value: Any, *, optional: Literal[True]) -> str | None: ...
def text(where: str, value: Any, *, optional: bool = False) -> str | None:
    """A text, or None where the argument may be left out."""
    if isinstance(value, str) or (value is None and optional):
        return value
    raise _wrong(where, value, "text")


def flag(where: str, value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise _wrong(where, value, "True or False")


def pilots(values: Any) -> list[tuple[float, bool, str]]:
    """Rounds, whether the loss was reached, and the scheme of each pilot."""
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(
            f"pilots: {values!r} is not a list of pilots",
            where="pilots",
            value=values,
            remedy=f"give a list: {_PILOT}",
        )
    return [_pilot(f"pilots[{place}]", value) for place, value in enumerate(values)]


def _pilot(where: str, value: Any) -> tuple[float, bool, str]:
    wrong = InputError(f"{where}: {value!r} is not a pilot", where=where, value=value, remedy=_PILOT)
    if isinstance(value, str):
        rounds, colon, scheme = value.partition(":")
        reached = not rounds.endswith("+")
        try:
            return float(rounds.strip().removesuffix("+")), reached, _scheme(scheme, colon, wrong)
        except ValueError:
            raise wrong from None
    if not isinstance(value, tuple | list) or len(value) != 2 or not isinstance(value[1], str):
        raise wrong
    return number(where, value[0]), True, value[1]


def _scheme(scheme: str, colon: str, wrong: InputError) -> str:
    if not colon or not scheme.strip():
        raise wrong
    return scheme


def probabilities(values: Any) -> npt.NDArray[np.float64]:
    """One number per device."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise _wrong("q", values, "an array with one probability per device") from None
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise InputError(
            f"q: an array of {array.dtype} with the shape {array.shape} has no probabilities",
            where="q",
            value=values,
            remedy="give an array with one probability per device",
        )
    return array.astype(np.float64, copy=False)


def costs_of(
    bandwidth_mbps: Any,
    spectrum_mhz: Any,
    overhead_secs: Any,
    downlink: Any,
    downlink_bandwidth_mbps: Any,
    downlink_ratio: Any,
) -> dict[str, Any]:
    """What a round costs, as the native code takes it."""
    return {
        "bandwidth_mbps": number("bandwidth_mbps", bandwidth_mbps, optional=True),
        "spectrum_mhz": number("spectrum_mhz", spectrum_mhz, optional=True),
        "overhead_secs": number("overhead_secs", overhead_secs),
        "downlink": text("downlink", downlink),
        "downlink_bandwidth_mbps": number("downlink_bandwidth_mbps", downlink_bandwidth_mbps, optional=True),
        "downlink_ratio": number("downlink_ratio", downlink_ratio),
    }


def goal_of(alpha: Any, beta: Any, given_pilots: Any, seed: Any, draws: Any) -> dict[str, Any]:
    """The constants of a plan and its estimates; callers add the scheme."""
    return {
        "scheme": None,
        "given_rows": None,
        "alpha": number("alpha", alpha, optional=True),
        "beta": number("beta", beta, optional=True),
        "pilots": pilots(given_pilots),
        "variance": None,
        "step_secs": None,
        "seed": count("seed", seed),
        "draws": count("draws", draws, optional=True, least=2),
    }
