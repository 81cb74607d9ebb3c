"""The built-in tasks: their data on every device, their networks and their first models, as numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count, listed, number, path_text, text
from fedflip._errors import InputError
from fedflip._plan_html import html_table
from fedflip._tasks_data import TaskData

__all__ = ["Parameter", "Task", "TaskData", "Tasks", "available", "load", "names"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a task: a keyword of :func:`load` and a key below ``[task]`` in scenarios."""

    name: str
    about: str
    wanted: str
    default: Any


@dataclass(frozen=True, slots=True)
class Task:
    """A row of the table of tasks.

    Attributes:
        name: The name in scenarios, on the wire and in records.
        about: One line on data and model.
        parameters: What :func:`load` takes besides the sharing of the data.
        sharings: The ways to share the samples among devices; empty if devices generate their own.
        metrics: The metrics of an evaluation, the most important one first.
        source: ``"synthetic"``, ``"dataset"``, or ``"own"`` for files of your own.
        dataset: The name of the data set, if there is one.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    sharings: tuple[str, ...]
    metrics: tuple[str, ...]
    source: str
    dataset: str | None


class Tasks(Mapping[str, Task]):
    """The tasks by name; printed, each stands beside a line."""

    __slots__ = ("_tasks",)

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._tasks = dict(tasks)

    def __getitem__(self, name: str) -> Task:
        return self._tasks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        return "\n".join(f"{task.name:<20}{task.about}" for task in self._tasks.values())

    def _repr_html_(self) -> str:
        columns = [("task", False), ("about", False), ("data set", False)]
        rows = [[task.name, task.about, task.dataset or task.source] for task in self._tasks.values()]
        return html_table(columns, rows)


def available() -> Tasks:
    """The built-in tasks.

    Examples:
        >>> import fedflip as ff
        >>> ff.tasks.available()["mnist-cnn"].dataset
        'mnist'
    """
    found = {}
    for row in _fedflip.tasks():
        parameters = tuple(Parameter(**parameter) for parameter in row["parameters"])
        found[row["name"]] = Task(
            name=row["name"],
            about=row["about"],
            parameters=parameters,
            sharings=tuple(row["sharings"]),
            metrics=tuple(row["metrics"]),
            source=row["source"],
            dataset=row["dataset"],
        )
    return Tasks(found)


def names() -> tuple[str, ...]:
    """The names of the built-in tasks."""
    return tuple(available())


def load(
    name: str,
    *,
    devices: int = 100,
    sharing: str = "dirichlet",
    concentration: float = 0.8,
    samples_min: int = 32,
    samples: Sequence[int] | npt.NDArray[Any] | None = None,
    data_seed: int = 1,
    test_samples_max: int | None = None,
    batch: int = 32,
    steps: int = 10,
    learning_rate: float | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> TaskData:
    """Reads or generates the data of a task, and shares them among devices as a run with these settings does.

    Args:
        name: A name of :func:`names`; ``"synthetic"`` needs no files.
        devices: How many devices share the data.
        sharing: How samples are shared: ``"dirichlet"``, ``"iid"``, ``"by-role"`` or ``"fleet"``. It does not matter
            for synthetic data, which every device generates itself.
        concentration: The concentration of the Dirichlet distribution: small is skewed.
        samples_min: The fewest samples that a device gets by Dirichlet.
        samples: The number of samples of each device, for ``sharing="fleet"``.
        data_seed: The seed of synthetic data, and of how samples are shared.
        test_samples_max: The most test samples of an evaluation, by default that of the task.
        batch: The samples of a local step.
        steps: The local steps of a round.
        learning_rate: The rate of local SGD, by default that of the task.
        data_dir: The folder of data sets, by default ``$FEDFLIP_DATA`` or ``fedflip`` in the user's cache folder.
        **parameters: The parameters of the task, such as ``hidden=32`` of ``synthetic``.

    Raises:
        InputError: The data set is not there, or an argument is wrong.

    Examples:
        >>> import fedflip as ff
        >>> task = ff.tasks.load("synthetic", devices=12)
        >>> features, labels = task.device(3)
        >>> features.shape == (int(task.samples[3]), 60)
        True
        >>> {name: array.shape for name, array in task.initial(seed=1).items()}
        {'fc.weight': (10, 60), 'fc.bias': (10,)}
    """
    chosen = text("name", name)
    task = available().get(chosen)
    if task is not None and task.source == "own":
        raise InputError(
            f"name: {chosen} trains on files of your own, which a scenario names",
            where="name",
            value=chosen,
            remedy="read the files with numpy, or use fedflip.Scenario; load has the tasks with built-in data",
        )
    arguments = {
        "devices": count("devices", devices, least=1),
        "sharing": text("sharing", sharing),
        "concentration": number("concentration", concentration),
        "samples_min": count("samples_min", samples_min),
        "samples": None if samples is None else _whole(samples),
        "data_seed": count("data_seed", data_seed),
        "test_samples_max": count("test_samples_max", test_samples_max, optional=True, least=1),
        "batch": count("batch", batch, least=1),
        "steps": count("steps", steps, least=1),
        "learning_rate": number("learning_rate", learning_rate, optional=True),
        "data_dir": path_text("data_dir", data_dir, optional=True),
    }
    for parameter in parameters:
        text("parameters", parameter)
    return TaskData._of(_fedflip.TaskData.load(chosen, parameters, arguments))


def _whole(samples: Sequence[int] | npt.NDArray[Any]) -> list[int]:
    """Counts as whole numbers, also if a fleet has them as decimals."""
    found = listed("samples", samples, "a list of numbers of samples")
    whole = [int(value) if isinstance(value, float) and value.is_integer() else value for value in found]
    return [count(f"samples[{device}]", value) for device, value in enumerate(whole)]
