"""The configuration of a run: given as it is, or read from the pyproject.toml of a Flower app."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedflip._errors import InputError

__all__ = ["run_config_of"]


def run_config_of(given: Mapping[str, Any] | str | os.PathLike[str] | None) -> dict[str, Any]:
    """The ``run_config`` of a context. Nested tables become names with full stops, as in Flower."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return _flat(given, "")
    path = Path(os.fsdecode(given))
    path = path / "pyproject.toml" if path.is_dir() else path
    try:
        tables: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        config = tables["tool"]["flwr"]["app"].get("config", {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"run_config: {path} has no table [tool.flwr.app]: {type(error).__name__}: {error}",
            where="run_config",
            value=str(given),
            remedy="give the folder of a Flower app, or a dict",
        ) from error
    return _flat(config, "")


def _flat(tables: Mapping[str, Any], before: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{name}."))
        elif isinstance(value, bool | int | float | str):
            flat[f"{before}{name}"] = value
        else:
            raise InputError(
                f"run_config: {before}{name} is {type(value).__name__}",
                where="run_config",
                value=value,
                remedy="use texts, numbers and booleans, as in Flower",
            )
    return flat
