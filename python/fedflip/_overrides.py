"""Keys of scenarios as keyword arguments, and the errors about them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from fedflip import _fedflip
from fedflip._arguments import text, wrong
from fedflip._errors import InputError
from fedflip._nearest import nearest

__all__ = [
    "Override",
    "add_value",
    "did_you_mean",
    "key_paths",
    "naming_values",
    "overrides_of",
    "path_of",
    "texts_of",
    "toml_of",
]


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """The value of one key.

    Attributes:
        key: The path of the key, such as ``train.batch``.
        value: The value as the caller gave it.
        text: Key and value as ``--set`` of the command line takes them.
    """

    key: str
    value: Any
    text: str

    @classmethod
    def of(cls, key: str, value: Any, where: str) -> Override:
        """The override of a key, if TOML can hold the value."""
        return cls(key, value, f"{text(where, key)}={toml_of(value, where)}")

    @classmethod
    def of_text(cls, line: str) -> Override:
        """The override that ``--set`` would take."""
        key, _, value = line.partition("=")
        return cls(key, tomllib.loads(f"value = {value}")["value"], line)


def texts_of(overrides: Iterable[Override]) -> list[str]:
    """What the native code takes."""
    return [override.text for override in overrides]


_BITS_MAX = 1024

#: Keys that are special cases of others with the same name, which are the ones that people mean.
_SECONDARY = ("pilot.", "downlink.", "plan.overhead_secs")


@cache
def key_paths() -> tuple[str, ...]:
    """The paths of all keys."""
    return tuple(f"{section}.{name}" if section else name for section, name, _ in _fedflip.scenario_keys())


def overrides_of(keys: Mapping[str, Any]) -> Iterator[Override]:
    """The overrides that keyword arguments ask for: keys by name, or sections as dicts.

    Raises:
        InputError: If a key does not exist, or TOML cannot hold its value.
    """
    sections = {path.partition(".")[0] for path in key_paths() if "." in path}
    for name, value in keys.items():
        if name in sections:
            if not isinstance(value, Mapping):
                first = next(path for path in key_paths() if path.startswith(f"{name}.")).rpartition(".")[2]
                raise wrong(
                    name, value, "a dict", f"give keys of the section, such as {name}={{{first!r}: …}}"
                )
            for key, inner in value.items():
                yield Override.of(f"{name}.{text(name, key)}", inner, f"{name}[{key!r}]")
        else:
            yield Override.of(path_of(text("keys", name)), value, name)


def path_of(name: str) -> str:
    """The path of a key from its own name, or from its path with two underscores instead of the full stop."""
    paths = key_paths()
    asked = name.replace("__", ".")
    if asked in paths:
        return asked
    found = [path for path in paths if path.rpartition(".")[2] == asked]
    found = [path for path in found if not path.startswith(_SECONDARY)] or found
    if len(found) == 1:
        return found[0]
    if found:
        places = " or ".join(f"{path.partition('.')[0]}={{{asked!r}: …}}" for path in found)
        raise InputError(
            f"several sections have a key {asked!r}", where=name, value=name, remedy=f"write {places}"
        )
    names = {path.rpartition(".")[2] for path in paths}
    raise InputError(
        f"there is no key {name!r}", where=name, value=name, remedy=did_you_mean(asked, [*names, *paths])
    )


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The key that was probably meant."""
    near = nearest(name, names)
    return f"did you mean {near}?" if near else "docs/reference/scenario.md lists all keys"


@contextmanager
def naming_values(overrides: Iterable[Override], path: str | None = None, task: str = "") -> Iterator[None]:
    """Adds the value to errors about a key."""
    try:
        yield
    except InputError as error:
        add_value(error, overrides, path, task)
        raise


def add_value(
    error: InputError, overrides: Iterable[Override], path: str | None = None, task: str = ""
) -> None:
    """Adds the value of the key that an error is about: that of the caller, or that in the scenario file."""
    if error.value is not None:
        return
    given = [override.value for override in overrides if override.key == error.where]
    if given:
        error.value = given[-1]
    elif path is not None:
        error.value = path if error.where.startswith(path) else _in_file(path, error.where)
    elif error.where == "task.name":
        error.value = task


def _in_file(path: str, key: str) -> Any:
    """The value of a key in a scenario file; None if the file or the key is not there."""
    try:
        with open(path, "rb") as file:
            found: Any = tomllib.load(file)
    except (OSError, ValueError):
        return None
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def toml_of(value: Any, where: str) -> str:
    """A value of Python as TOML."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:
        value = item()
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python does not write numbers of thousands of digits.
        if value.bit_length() > _BITS_MAX:
            raise wrong(where, value, "a number that a key can have", "give a smaller number")
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(text(where, os.fspath(value)), ensure_ascii=False)
    if isinstance(value, Mapping):
        inside = (f"{json.dumps(text(where, key))} = {toml_of(inner, where)}" for key, inner in value.items())
        return "{ " + ", ".join(inside) + " }"
    if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return "[" + ", ".join(toml_of(inner, where) for inner in list(value)) + "]"
    raise wrong(
        where,
        value,
        "a value that a key can have",
        "give a number, a text, True or False, or a list of these",
    )
