"""The public data sets that fedflip knows, as numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count, listed, path_text, text
from fedflip._plan_html import html_table

__all__ = ["Catalogue", "DataSet", "Entry", "available", "load", "names"]

Samples = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set of the catalogue.

    Attributes:
        name: The name in commands, and the name of its folder.
        about: What the data set is.
        licence: What may be done with it.
        bytes: The bytes of all files, as stored.
        folder: Where its files are, or would be.
        present: Whether its files are there.
    """

    name: str
    about: str
    licence: str
    bytes: int
    folder: str
    present: bool


class Catalogue(Mapping[str, Entry]):
    """The data sets by name; printed, each stands beside a line."""

    __slots__ = ("_sets",)

    def __init__(self, sets: Mapping[str, Entry]) -> None:
        self._sets = dict(sets)

    def __getitem__(self, name: str) -> Entry:
        return self._sets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def _rows(self) -> list[list[str]]:
        return [
            [entry.name, f"{entry.bytes / 1e6:.1f} MB", "here" if entry.present else "not here", entry.about]
            for entry in self._sets.values()
        ]

    def __repr__(self) -> str:
        return "\n".join(
            f"{name:<16}{size:>9}  {present:<10}{about}" for name, size, present, about in self._rows()
        )

    def _repr_html_(self) -> str:
        columns = [("data set", False), ("stored", True), ("files", False), ("about", False)]
        return html_table(columns, self._rows())


def available(*, data_dir: str | os.PathLike[str] | None = None) -> Catalogue:
    """The catalogue, and which data sets are in the folder.

    Args:
        data_dir: The folder of data sets, by default ``$FEDFLIP_DATA`` or ``fedflip`` in the user's cache folder.

    Examples:
        >>> import fedflip as ff
        >>> ff.datasets.available()["mnist"].licence
        'CC BY-SA 3.0'
    """
    rows = _fedflip.datasets(path_text("data_dir", data_dir, optional=True))
    return Catalogue({row["name"]: Entry(**row) for row in rows})


def names() -> tuple[str, ...]:
    """The names of the data sets."""
    return tuple(available())


def load(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> DataSet:
    """Reads a data set and checks every byte of it. ``fedflip data get NAME`` downloads one.

    Args:
        name: A name of :func:`names`.
        data_dir: The folder of data sets, by default ``$FEDFLIP_DATA`` or ``fedflip`` in the user's cache folder.

    Raises:
        InputError: The files are not there, or are damaged.
    """
    folder = path_text("data_dir", data_dir, optional=True)
    return DataSet._of(_fedflip.DataSet.load(text("name", name), folder))


@final
class DataSet:
    """A data set in memory. Pictures are normalised per channel; a text has windows of symbols."""

    __slots__ = ("_native",)

    _native: _fedflip.DataSet

    def __init__(self) -> None:
        raise TypeError("read a data set with fedflip.datasets.load(name)")

    @classmethod
    def _of(cls, native: _fedflip.DataSet) -> DataSet:
        made = object.__new__(cls)
        made._native = native
        return made

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self._native.name

    @property
    def classes(self) -> int:
        """The number of labels."""
        return self._native.classes

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Height, width and channels of a picture, or the length of a window: ``features.reshape(-1, *shape)``."""
        return tuple(self._native.sample_shape)

    @property
    def train_samples(self) -> int:
        """The number of training samples."""
        return self._native.lengths[0]

    @property
    def test_samples(self) -> int:
        """The number of test samples."""
        return self._native.lengths[1]

    def train(self, numbers: Sequence[int] | npt.NDArray[Any] | None = None) -> Samples:
        """Training samples, one a row, and their labels: all, or those with these numbers."""
        return self._part(False, numbers)

    def test(self, numbers: Sequence[int] | npt.NDArray[Any] | None = None) -> Samples:
        """Test samples, one a row, and their labels: all, or those with these numbers."""
        return self._part(True, numbers)

    def _part(self, is_test: bool, numbers: Sequence[int] | npt.NDArray[Any] | None) -> Samples:
        whole = None if numbers is None else listed("numbers", numbers, "a list of numbers", each=count)
        features, labels = self._native.part(is_test, whole)
        return features, labels.astype(np.int64)

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.sample_shape))
        return f"DataSet({self.name}: {self.train_samples} training and {self.test_samples} test samples of {shape})"
