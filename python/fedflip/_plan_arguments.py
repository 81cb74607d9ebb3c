"""Arguments that the planner alone has: costs, goals, pilots and probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip._arguments import count, listed, number, text, wrong
from fedflip._errors import InputError

Pilots = Iterable[str | tuple[float, str]]
"""Pilots such as ``["155:uniform", (13, "full")]``: rounds to the same loss under a baseline scheme."""

_PILOT = 'write "18:uniform", or (18, "uniform"); "500+:uniform" if the pilot gave up after 500 rounds'


def pilots(values: Any) -> list[tuple[float, bool, str]]:
    """Rounds, whether the loss was reached, and the scheme of each pilot."""
    if values is None:
        return []
    return listed("pilots", values, "a list of pilots", each=_pilot, remedy=f"give a list: {_PILOT}")


def _pilot(where: str, value: Any) -> tuple[float, bool, str]:
    refusal = wrong(where, value, "a pilot", _PILOT)
    if isinstance(value, str):
        rounds, _, scheme = text(where, value).partition(":")
        reached = not rounds.endswith("+")
        try:
            rounds_found = float(rounds.strip().removesuffix("+"))
        except ValueError:
            raise refusal from None
        if not scheme.strip():
            raise refusal
        return rounds_found, reached, scheme
    if not isinstance(value, tuple | list) or len(value) != 2 or not isinstance(value[1], str):
        raise refusal
    return number(where, value[0]), True, text(where, value[1])


def probabilities(values: Any) -> npt.NDArray[np.float64]:
    """One number per device."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise wrong("q", values, "an array with one probability per device") from None
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise InputError(
            f"q: an array of {array.dtype} with the shape {array.shape} has no probabilities",
            where="q",
            value=values,
            remedy="give an array with one probability per device",
        )
    return np.require(array, np.float64, "A")


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
