"""Arguments of this package as keys of a scenario, which checks them and is what a run folder keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._fleet import Fleet
from fedflip._nearest import nearest
from fedflip._plan import Plan
from fedflip.flower._model import Layout

__all__ = ["clock_keys", "native_scenario", "optimiser_keys"]

_CONDITIONS = ("compute_jitter", "fading_db", "dropout")
_OPTIMISER = ("optimiser", "step", "momentum", "second_moment", "epsilon", "averaging")


def clock_keys(
    bandwidth_mbps: Any, conditions: Mapping[str, Any] | None, seed: Any, optional: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys that decide how long rounds take. Optional keys are left out where they are None."""
    keys = {"seed": seed, "fleet.bandwidth_mbps": bandwidth_mbps}
    given = _checked_names("conditions", conditions or {}, _CONDITIONS)
    keys |= {f"world.{name}": value for name, value in given.items()}
    return keys | {key: value for key, value in optional.items() if value is not None}


def optimiser_keys(optimiser: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The keys of ``[server]`` of a scenario: the name of an optimiser, or its settings."""
    if optimiser is None:
        return {}
    if not isinstance(optimiser, str | Mapping):
        raise InputError(
            f"server_optimiser is {type(optimiser).__name__}, and should be a name or a dict",
            where="server_optimiser",
            value=optimiser,
            remedy='use "momentum", "adam" or "yogi", or {"optimiser": "adam", "step": 0.01}',
        )
    settings = {"optimiser": optimiser} if isinstance(optimiser, str) else optimiser
    given = _checked_names("server_optimiser", settings, _OPTIMISER)
    return {f"server.{name}": value for name, value in given.items()}


def _checked_names(where: str, given: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(
            f"{where} is {type(given).__name__}, and should be a dict",
            where=where,
            value=given,
            remedy=f"name some of {', '.join(known)}",
        )
    for name in given:
        if name not in known:
            near = nearest(str(name), list(known))
            raise InputError(
                f"{where}: there is no {name!r}",
                where=where,
                value=name,
                remedy=f"did you mean {near}?" if near else f"name some of {', '.join(known)}",
            )
    return given


def _value(where: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(
            f"{where}: {value!r} is neither a number nor a text",
            where=where,
            value=value,
            remedy="give a number or a text",
        )
    return json.dumps(value)


def native_scenario(
    fleet: Fleet,
    keys: Mapping[str, Any],
    *,
    plan: Plan | None = None,
    model: tuple[Layout, Any] | None = None,
) -> _fedflip.Scenario:
    """The scenario of an external task. Without a model, a model of one number stands in its place."""
    tensors, numbers = [("model", [1])], np.zeros(1, np.float32)
    if model is not None:
        layout, numbers = model
        tensors = [(name, list(shape)) for name, shape in layout.tensors]
    overrides = [f"{key}={_value(key.rpartition('.')[2], value)}" for key, value in keys.items()]
    native_plan = None if plan is None else plan._native
    return _fedflip.Scenario.resolve(
        "external", None, overrides, fleet=fleet._native, plan=native_plan, initial=(tensors, numbers)
    )
