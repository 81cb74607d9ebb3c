"""Scenarios: every setting of a run, as keyword arguments or from a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fedflip import _fedflip
from fedflip._arguments import path_text, text
from fedflip._errors import InputError
from fedflip._overrides import Override, did_you_mean, key_paths, naming_values, overrides_of, texts_of

if TYPE_CHECKING:
    from fedflip._fleet import Fleet

__all__ = ["Scenario"]


class Scenario:
    """Everything that decides a run: task, data, fleet, training, server, plan, costs and stop.

    Keys are those of scenario files (docs/reference/scenario.md). A key that only one section has is an argument of its own name;
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
        self._task, self._path = source_of("task_or_path", task_or_path)
        self._overrides: tuple[Override, ...] = tuple(overrides_of(keys))
        self._resolved = self._resolve()

    def _resolve(self) -> _fedflip.Scenario:
        with naming_values(self._overrides, self._path, self._task):
            return _fedflip.Scenario.resolve(self._task, self._path, texts_of(self._overrides))

    def with_keys(self, **keys: Any) -> Scenario:
        """The same scenario with other values of some keys."""
        other = object.__new__(type(self))
        other._task, other._path = self._task, self._path
        other._overrides = (*self._overrides, *overrides_of(keys))
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

        return Fleet._of(
            _fedflip.scenario_fleet(self._resolved, path_text("data_dir", data_dir, optional=True))
        )

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
        section, _, name = text("key", key, remedy="name a key, such as 'train.batch'").rpartition(".")
        inside = values.get(section, {}) if section else values
        if name not in inside:
            raise InputError(
                f"there is no key {key!r}",
                where=key,
                value=key,
                remedy=did_you_mean(key, key_paths()),
            )
        return inside[name]

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a Scenario is not iterable; use to_dict()")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._task, self._path, self._overrides))

    def __repr__(self) -> str:
        keys = "".join(f", {line}" for line in texts_of(self._overrides))
        return f"Scenario({str(self._path or self._task)!r}{keys})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<details><summary><code>{escape(repr(self))}</code></summary><pre>{escape(self.to_toml())}</pre></details>"


def _restored(task: str, path: str | None, overrides: tuple[Override, ...]) -> Scenario:
    """Makes a scenario again in another process."""
    scenario = object.__new__(Scenario)
    scenario._task, scenario._path = task, path
    scenario._overrides = overrides
    scenario._resolved = scenario._resolve()
    return scenario


def source_of(where: str, task_or_path: Any) -> tuple[str, str | None]:
    """The task or the path. A text is a path if it looks like one."""
    remedy = "name a task such as 'synthetic', or the path of a scenario file"
    found = path_text(where, task_or_path, remedy=remedy)
    if isinstance(task_or_path, os.PathLike):
        return "", found
    looks_like_a_path = found.endswith(".toml") or os.sep in found or os.path.isfile(found)
    return ("", found) if looks_like_a_path else (text(where, found), None)
