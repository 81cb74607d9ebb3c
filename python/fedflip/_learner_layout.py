"""The tensors of a model: their names, their shapes, and their places in one flat array."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip._errors import LearnerError

__all__ = ["Array", "Layout"]

Array = npt.NDArray[np.float32]

_FLOAT32 = np.dtype(np.float32)


class Layout:
    """Where each tensor of a model is in a flat array of float32, in the order of the names.

    safetensors files have the same order.

    Args:
        shapes: The shapes by name, in the order in which the learner gave them. None for a model that is one flat array.
        size: The length of a model that is one flat array.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]] | None, size: int = 0) -> None:
        self.named = shapes is not None
        tensors = {"model": (size,)} if shapes is None else dict(shapes)
        self.tensors: list[tuple[str, tuple[int, ...]]] = [(name, tensors[name]) for name in sorted(tensors)]
        first, places = 0, {}
        for name, shape in self.tensors:
            places[name] = (first, first + math.prod(shape), shape)
            first += math.prod(shape)
        self.size = first
        self.shape = (first,)
        # The learner sees its tensors in the order in which it gave them.
        self.places: dict[str, tuple[int, int, tuple[int, ...]]] = {name: places[name] for name in tensors}

    @classmethod
    def of(cls, model: Any, what: str) -> Layout:
        """The layout of a model that a learner gave.

        Raises:
            LearnerError: If the model is neither a flat array nor a mapping of arrays, or has another type than float32.
        """
        if not isinstance(model, Mapping):
            array = checked_array(
                model, None, what, "return one flat float32 array, or a dict of float32 arrays"
            )
            if array.ndim != 1 or array.size == 0:
                raise LearnerError(
                    f"{what} has the shape {array.shape}, but a model without names is one flat array",
                    remedy=f"return {{'name': array, …}} to keep shapes, or array.ravel(){_at_least_one(array)}",
                )
            return cls(None, array.size)
        for name in model:
            if not isinstance(name, str) or not name:
                raise LearnerError(f"{what} has a tensor named {name!r}", remedy="use texts as names")
        shapes = {
            name: checked_array(array, None, f"{what}[{name!r}]").shape for name, array in model.items()
        }
        layout = cls(shapes)
        if layout.size == 0:
            raise LearnerError(
                f"{what} has no parameters", remedy="return at least one tensor that is not empty"
            )
        return layout

    @classmethod
    def declared(cls, tensors: Iterable[tuple[str, Iterable[int]]], what: str) -> Layout:
        """The layout of a learner with flat arrays that declares the names and shapes of the tensors in them.

        Raises:
            LearnerError: If the names are not in their order, or not unique.
        """
        shapes = [(name, tuple(int(side) for side in shape)) for name, shape in tensors]
        names = [name for name, _ in shapes]
        if names != sorted(set(names)):
            raise LearnerError(
                f"{what} lists the names {names}, which are not sorted and unique",
                remedy="store the tensors in the flat array in the order of their names",
            )
        layout = cls(dict(shapes))
        layout.named = False
        return layout

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.named, self.tensors) == (other.named, other.tensors)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Layout({len(self.tensors)} tensors, {self.size:,} parameters)"

    def split(self, flat: Array) -> dict[str, Array]:
        """The tensors of a flat model as views, in the learner's order."""
        return {name: flat[first:last].reshape(shape) for name, (first, last, shape) in self.places.items()}

    def joined(self, model: Any, what: str) -> Array:
        """A model or update of this layout as one contiguous flat array, which may be the argument itself.

        Raises:
            LearnerError: If a name is missing or unknown, or an array has another shape or type.
        """
        if not self.named:
            return np.require(checked_array(model, self.shape, what), requirements=["C", "A"])
        if not isinstance(model, Mapping):
            raise LearnerError(
                f"{what} is a {type(model).__name__}, but the model has named tensors",
                remedy="return a dict with the names that the model has",
            )
        if model.keys() != self.places.keys():
            missing, unknown = (
                sorted(self.places.keys() - model.keys()),
                sorted(map(repr, model.keys() - self.places.keys())),
            )
            lacks = f"lacks {', '.join(map(repr, missing))}" if missing else ""
            has = f"has {', '.join(unknown)}, which the model does not have" if unknown else ""
            raise LearnerError(
                f"{what} {' and '.join(filter(None, [lacks, has]))}",
                remedy="return one array for each name of the model, zeros for tensors that did not change",
            )
        flat = np.empty(self.size, np.float32)
        for name, (first, last, shape) in self.places.items():
            array = model[name]
            if type(array) is not np.ndarray or array.dtype != _FLOAT32 or array.shape != shape:
                array = checked_array(array, shape, f"{what}[{name!r}]")
            flat[first:last].reshape(shape)[...] = array
        return flat


def checked_array(
    array: Any, shape: tuple[int, ...] | None, what: str, remedy: str = "return a float32 numpy array"
) -> Array:
    """The argument, if it is an array of float32 and of this shape.

    Other floating-point types are refused and not converted: a float64 update usually means that a model was trained in
    another precision than the one that travels.

    Raises:
        LearnerError: If the type or the shape differs.
    """
    if isinstance(array, np.generic):
        # Arithmetic with an array without dimensions gives a scalar.
        array = np.asarray(array)
    if not isinstance(array, np.ndarray):
        module = type(array).__module__.partition(".")[0]
        if module in ("torch", "jax", "jaxlib", "tensorflow"):
            remedy = (
                "return tensor.detach().cpu().numpy()" if module == "torch" else "return numpy.asarray(array)"
            )
        elif isinstance(array, (list, tuple)):
            remedy = "return numpy.asarray(values, dtype=numpy.float32)"
        name = type(array).__name__ if module == "builtins" else f"{module}.{type(array).__name__}"
        raise LearnerError(f"{what} is {_article(name)} {name}, not a numpy array", remedy=remedy)
    if array.dtype != _FLOAT32:
        raise LearnerError(
            f"{what} has the dtype {array.dtype}, but models and updates are float32",
            remedy="return array.astype(numpy.float32)",
        )
    if shape is not None and array.shape != shape:
        raise LearnerError(
            f"{what} has the shape {array.shape}, but the model has {shape}",
            remedy="return local model − model, with the shape of the model",
        )
    return array


def _at_least_one(array: Array) -> str:
    return "" if array.size else ", with at least one parameter"


def _article(name: str) -> str:
    return "an" if name[:1].lower() in "aeiou" else "a"
