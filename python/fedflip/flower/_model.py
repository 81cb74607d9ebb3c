"""The arrays of a model: as Flower has them, and as one vector of numbers for records, checkpoints and optimisers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from flwr.app import Array, ArrayRecord

from fedflip._errors import InputError

__all__ = [
    "Arrays",
    "DivergedUpdateError",
    "Layout",
    "WeightedSum",
    "arrays_of",
    "moved",
    "numbers_of",
    "record_of",
]

Arrays = dict[str, npt.NDArray[Any]]

#: Kinds of numpy types that can be added up: bool, signed and unsigned integers, floats, complex numbers.
_KINDS = "biufc"
#: Types of which a single-precision number holds every value.
_EXACT = frozenset(["float32", "float16", "bool", "int8", "uint8", "int16", "uint16"])


def arrays_of(record: ArrayRecord, whose: str) -> Arrays:
    """The arrays of a record by name. Arrays that are no numbers are refused."""
    arrays: Arrays = {}
    for name, packed in record.items():
        try:
            array = arrays[name] = packed.numpy()
        except Exception as error:
            raise InputError(
                f"{whose}: the array {name!r} cannot be read: {error}",
                where=name,
                value=str(packed.dtype),
                remedy="make arrays with flwr.app.Array of a numpy array",
            ) from error
        if array.dtype.kind not in _KINDS:
            raise InputError(
                f"{whose}: the array {name!r} has the type {array.dtype}, which cannot be added up",
                where=name,
                value=str(array.dtype),
                remedy="send such data in a ConfigRecord",
            )
    return arrays


def numbers_of(record: ArrayRecord) -> Arrays:
    """The arrays of a record that are numbers. Callers that only keep a model ignore the others."""
    arrays: Arrays = {}
    for name in record:
        with contextlib.suppress(InputError):
            arrays |= arrays_of(ArrayRecord({name: record[name]}), "the model")
    return arrays


def record_of(arrays: Mapping[str, npt.NDArray[Any]]) -> ArrayRecord:
    """The arrays as a record, in their order."""
    return ArrayRecord({name: Array(np.asarray(array)) for name, array in arrays.items()})


class Layout:
    """How the arrays of a model become one vector of single-precision numbers: by name, without empty arrays.

    A run folder has at least one number, so a model without any counts as a single zero.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        full = {name: array for name, array in arrays.items() if array.size > 0}
        self._named: list[tuple[str, tuple[int, ...]]] = [(name, full[name].shape) for name in sorted(full)]
        self.tensors = self._named or [("nothing", (1,))]
        #: Whether a checkpoint of single-precision numbers holds the model to the bit.
        self.is_exact = all(str(array.dtype) in _EXACT for array in full.values())

    def flat(self, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        """All numbers, one array after the other. Of complex numbers the real part counts."""
        parts = [np.real(arrays[name]).astype(np.float32).reshape(-1) for name, _ in self._named]
        return np.concatenate(parts) if parts else np.zeros(1, np.float32)

    def unflat(self, numbers: npt.NDArray[np.float32], like: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """The arrays of a vector, each of the type that it has in ``like``."""
        arrays, first = {name: array.copy() for name, array in like.items()}, 0
        for name, shape in self._named:
            size = int(np.prod(shape, dtype=np.int64))
            arrays[name] = _typed(numbers[first : first + size].reshape(shape), like[name].dtype)
            first += size
        return arrays


def _typed(numbers: npt.NDArray[np.float32], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.kind == "b":
        return numbers != 0
    if dtype.kind in "iu":
        return _moved(np.zeros(numbers.shape, dtype), numbers.astype(np.float64))
    # Not zero plus the number: that would turn −0.0 into 0.0.
    with np.errstate(over="ignore"):
        return numbers.astype(dtype)


class WeightedSum:
    """Σ weight · (update − model) over the clients of a round, in double precision and in the order of the calls."""

    def __init__(self, model: Arrays) -> None:
        self._model = model
        self.step: dict[str, npt.NDArray[Any]] = {}
        self.added = 0

    def add(self, weight: float, arrays: Arrays, whose: str) -> None:
        """Adds the arrays that a client has sent."""
        self._check(arrays, whose)
        for name, before in self._model.items():
            change = weight * (_wide(arrays[name]) - _wide(before))
            if name in self.step:
                self.step[name] += change
            else:
                self.step[name] = np.asarray(change)
        self.added += 1

    def _check(self, arrays: Arrays, whose: str) -> None:
        if set(arrays) != set(self._model):
            missing, extra = sorted(set(self._model) - set(arrays)), sorted(set(arrays) - set(self._model))
            said = [f"{what} {names[0]!r}" for what, names in (("lacks", missing), ("adds", extra)) if names]
            raise InputError(
                f"{whose} sent other arrays than those of the model: it {' and '.join(said)}",
                where="arrays",
                value=sorted(arrays),
                remedy="reply with all arrays of the model under the same names",
            )
        for name, array in arrays.items():
            if array.shape != self._model[name].shape:
                raise InputError(
                    f"{whose}: the array {name!r} has the shape {array.shape}, and the model's has {self._model[name].shape}",
                    where=name,
                    value=array.shape,
                    remedy="reply with arrays of the model's shapes",
                )
            if array.dtype.kind == "c" and self._model[name].dtype.kind != "c":
                raise InputError(
                    f"{whose}: the array {name!r} has complex numbers, and the model's has real ones",
                    where=name,
                    value=str(array.dtype),
                    remedy="reply with arrays of the model's types",
                )
            if not _fits(array, self._model[name].dtype):
                raise DivergedUpdateError(
                    f"{whose}: the array {name!r} holds NaN, infinite or too large numbers"
                )


def _fits(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether all numbers are finite, also as floats of another type. Integers have limits of their own."""
    if dtype.kind not in "fc":
        return bool(np.all(np.isfinite(array)))
    with np.errstate(over="ignore"):
        return bool(np.all(np.isfinite(array.astype(dtype, copy=False))))


class DivergedUpdateError(Exception):
    """An update with NaN or infinite numbers."""


def _wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in the type in which differences are formed: 64 bits of its kind."""
    kinds: dict[str, Any] = {"c": np.complex128, "i": np.int64, "u": np.int64}
    return array.astype(kinds.get(array.dtype.kind, np.float64))


def moved(model: Arrays, step: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The model after a step, each array of the type that it had. See :class:`CoinStrategy` for integers."""
    return {name: _moved(before, step[name]) for name, before in model.items()}


def _moved(before: npt.NDArray[Any], step: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if before.dtype.kind == "b":
        return before.copy()
    if before.dtype.kind in "iu":
        limits = np.iinfo(before.dtype)
        after = _wide(before) + np.rint(np.clip(step, -(2.0**62), 2.0**62)).astype(np.int64)
        narrow = before.dtype.itemsize < 8
        return np.asarray(np.clip(after, limits.min, limits.max) if narrow else after).astype(before.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(_wide(before) + step).astype(before.dtype)
