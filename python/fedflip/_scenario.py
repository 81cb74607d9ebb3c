"""Scenarios: every setting of a run, as keyword arguments or from a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._nearest import nearest

if TYPE_CHECKING:
    from fedflip._fleet import Fleet

__all__ = ["Scenario"]


class Scenario:
    """Everything that decides a run: task, data, fleet, training, server, plan, costs and stop.

    Keys are those of scenario files (docs/scenario.md). A key that only one section has is an argument of its own name;
    ``[pilot]`` and ``[downlink]`` do not count there. Keys of one section go together as a dict with the name of the section. Values are
    checked at once.

    Args:
        task_or_path: The name of a built-in task, such as ``"mnist-cnn"``, or the path of a scenario file.
        **keys: Keys such as ``seed=1``, ``rounds_max=100``, ``scheme="paper"`` or ``train={"batch": 16}``.

    Raises:
        InputError: If a key does not exist or has a wrong value.

    Examples:
        >>> scenario = Scenario("synthetic", seed=3, rounds_max=20, train={"batch": 16})
        >>> scenario["train.batch"], scenario["stop.rounds_max"]
        (16, 20)
        >>> scenario.with_keys(scheme="full")["plan.scheme"]
        'full'
    """

    def __init__(self, task_or_path: str | os.PathLike[str], /, **keys: Any) -> None:
        self._task, self._path = _source(task_or_path)
        self._overrides: tuple[str, ...] = tuple(_overrides(keys))
        self._resolved = self._resolve()

    def _resolve(self, **memory: Any) -> _fedflip.Scenario:
        return _fedflip.Scenario.resolve(self._task, self._path, list(self._overrides), **memory)

    def with_keys(self, **keys: Any) -> Scenario:
        """The same scenario with other values of some keys."""
        other = object.__new__(type(self))
        other._task, other._path = self._task, self._path
        other._overrides = (*self._overrides, *_overrides(keys))
        other._resolved = other._resolve()
        return other

    @property
    def task(self) -> str:
        """The name of the task."""
        return self._resolved.task

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self._resolved.devices

    def fleet(self, *, data_dir: str | os.PathLike[str] | None = None) -> Fleet:
        """The devices, with the numbers of samples that the data of the task have; a plan for a run needs these.

        Examples:
            >>> from fedflip import plan, simulate
            >>> scenario = Scenario("synthetic", rounds_max=2)
            >>> run = simulate(scenario, plan=plan(scenario.fleet(), bandwidth_mbps=50), progress=False)
            >>> run.scenario["fleet"]["bandwidth_mbps"]
            50
        """
        from fedflip._fleet import Fleet

        return Fleet._of(_fedflip.scenario_fleet(self._resolved, data_dir))

    def to_toml(self) -> str:
        """Every key and its value as a scenario file, which the CLI runs too."""
        return self._resolved.toml()

    def to_dict(self) -> dict[str, Any]:
        """Every key and its value: a dict for each section, and the keys above all sections."""
        values: dict[str, Any] = json.loads(self._resolved.json())
        return values

    def __getitem__(self, key: str) -> Any:
        """The value of a key such as ``"train.batch"``; None if it is not set."""
        values = self.to_dict()
        section, _, name = key.rpartition(".")
        inside = values.get(section, {}) if section else values
        if name not in inside:
            raise InputError(
                f"there is no key {key!r}",
                where=key,
                value=key,
                remedy=_did_you_mean(key, [path for path, _ in _keys()]),
            )
        return inside[name]

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a Scenario is not iterable; use to_dict()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._path or self._task, self._overrides))

    def __repr__(self) -> str:
        keys = "".join(f", {text}" for text in self._overrides)
        return f"Scenario({str(self._path or self._task)!r}{keys})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<details><summary><code>{escape(repr(self))}</code></summary><pre>{escape(self.to_toml())}</pre></details>"


def _restored(source: str, overrides: tuple[str, ...]) -> Scenario:
    """Makes a scenario again in another process."""
    scenario = object.__new__(Scenario)
    scenario._task, scenario._path = _source(source)
    scenario._overrides = overrides
    scenario._resolved = scenario._resolve()
    return scenario


def _source(task_or_path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The task or the path. A text is a path if it looks like one."""
    if isinstance(task_or_path, os.PathLike):
        return "", os.fspath(task_or_path)
    if not isinstance(task_or_path, str):
        raise InputError(
            f"task_or_path is {task_or_path!r}, which is neither a name nor a path",
            where="task_or_path",
            value=task_or_path,
            remedy="name a task such as 'synthetic', or the path of a scenario file",
        )
    looks_like_a_path = (
        task_or_path.endswith(".toml") or os.sep in task_or_path or Path(task_or_path).is_file()
    )
    return ("", task_or_path) if looks_like_a_path else (task_or_path, None)


#: Keys that are special cases of others with the same name, which are the ones that people mean.
_SECONDARY = ("pilot.", "downlink.", "plan.overhead_secs")


@cache
def _keys() -> list[tuple[str, str]]:
    """The path and the meaning of every key."""
    return [
        (f"{section}.{name}" if section else name, about) for section, name, about in _fedflip.scenario_keys()
    ]


def _overrides(keys: Mapping[str, Any]) -> Iterator[str]:
    """Keys and values as the CLI's ``--set`` takes them."""
    sections = {path.partition(".")[0] for path, _ in _keys() if "." in path}
    for name, value in keys.items():
        if isinstance(value, Mapping) and name in sections:
            for key, inner in value.items():
                yield _override(f"{name}.{key}", inner, f"{name}[{key!r}]")
        else:
            yield _override(_path_of(name), value, name)


def _path_of(name: str) -> str:
    """The path of a key from its own name, or from its path with two underscores instead of the full stop."""
    paths = [path for path, _ in _keys()]
    asked = name.replace("__", ".")
    if asked in paths:
        return asked
    found = [path for path in paths if path.rpartition(".")[2] == asked]
    found = [path for path in found if not path.startswith(_SECONDARY)] or found
    if len(found) == 1:
        return found[0]
    if found:
        where = " or ".join(f"{path.partition('.')[0]}={{{asked!r}: …}}" for path in found)
        raise InputError(
            f"several sections have a key {asked!r}", where=name, value=name, remedy=f"write {where}"
        )
    names = {path.rpartition(".")[2] for path in paths}
    raise InputError(
        f"there is no key {name!r}", where=name, value=name, remedy=_did_you_mean(asked, [*names, *paths])
    )


def _did_you_mean(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    return f"did you mean {near}?" if near else "docs/scenario.md lists all keys"


def _override(path: str, value: Any, where: str) -> str:
    return f"{path}={_toml(value, where)}"


def _toml(value: Any, where: str) -> str:
    """A value of Python as TOML."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:
        value = item()
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{json.dumps(str(key))} = {_toml(inner, where)}" for key, inner in value.items())
            + " }"
        )
    if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return "[" + ", ".join(_toml(inner, where) for inner in list(value)) + "]"
    raise InputError(
        f"{where} is {value!r}, which no key takes",
        where=where,
        value=value,
        remedy="give a number, a text, True or False, or a list of these",
    )
