"""A learner as bytes: pickled once, and read by any number of workers without a copy of its data."""

from __future__ import annotations

import importlib
import io
import pickle
import runpy
import struct
import sys
import types
from typing import Any

from fedflip._errors import InputError, LearnerError
from fedflip._learner import FlatLearner
from fedflip._native_learner import NativeLearner

__all__ = ["Parcel", "pack", "unpack"]

#: Arrays of at least this number of bytes are stored beside the pickle, where workers share them.
_LARGE = 4096
_ALIGNED = 64
_LENGTH = struct.Struct("<Q")

_REMEDY = (
    "define classes and functions of the learner at the top level of a module, or `pip install cloudpickle`, "
    "which also sends lambdas and code of notebooks; open files and connections in `train`, not in the constructor"
)


class Parcel:
    """A packed learner: pickled bytes, and large arrays beside them.

    numpy arrays and torch tensors of the CPU are stored once. A process that maps the parcel privately uses them in place.
    A torch tensor is stored without the rest of its storage, so that slices of one large tensor do not multiply.

    Args:
        work: The learner. Its layout is part of the parcel.

    Raises:
        InputError: If the learner cannot be pickled.
    """

    def __init__(self, work: FlatLearner | NativeLearner) -> None:
        self.size = work.size
        self._arrays: list[memoryview] = []
        head = io.BytesIO()
        try:
            pickler = _pickler_class()(head, protocol=5, buffer_callback=self._beside)
            main = _main_of(pickler, work, head)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{type(work.learner).__name__} cannot be sent to other processes: {type(error).__name__}: {error}",
                where="learner",
                value=work.learner,
                remedy=_REMEDY,
            ) from error
        sizes = [array.nbytes for array in self._arrays]
        self._head = pickle.dumps((sys.path, main, sizes, head.getbuffer().nbytes))
        self._pickled = head.getvalue()
        parts = [_LENGTH.size + len(self._head), len(self._pickled), *sizes]
        self.nbytes = sum(map(_aligned, parts))

    def write(self, target: memoryview) -> None:
        """Writes the parcel to ``target``, which has ``nbytes`` bytes."""
        first = 0
        parts: list[bytes | memoryview] = [
            _LENGTH.pack(len(self._head)) + self._head,
            self._pickled,
            *self._arrays,
        ]
        for part in parts:
            target[first : first + len(part)] = part
            first += _aligned(len(part))

    def _beside(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _LARGE:
            return True
        self._arrays.append(raw)
        return False


def pack(work: FlatLearner | NativeLearner) -> bytes:
    """A learner as bytes, for another process or machine with the same packages."""
    parcel = Parcel(work)
    target = bytearray(parcel.nbytes)
    parcel.write(memoryview(target))
    return bytes(target)


def unpack(parcel: bytes | memoryview) -> FlatLearner | NativeLearner:
    """The learner in a parcel. Its large arrays are those of the argument, and not copied if that is writable.

    Unpacking runs code from the parcel: use only parcels of your own.
    """
    view = memoryview(parcel)
    if view.readonly:
        view = memoryview(bytearray(view))
    first = _LENGTH.size + _LENGTH.unpack_from(view)[0]
    path, main, sizes, pickled = pickle.loads(view[_LENGTH.size : first])
    sys.path.extend(place for place in path if place not in sys.path)
    if main is not None:
        _import_main(*main)
    first = _aligned(first)
    arrays, place = [], first + _aligned(pickled)
    for size in sizes:
        arrays.append(view[place : place + size])
        place += _aligned(size)
    work = pickle.loads(view[first : first + pickled], buffers=arrays)
    if not isinstance(work, (FlatLearner, NativeLearner)):
        raise LearnerError(
            f"the parcel holds a {type(work).__name__}, not a learner", remedy="use bytes of pack()"
        )
    return work


def importing_main() -> bool:
    """Whether this process is a worker that imports the user's script, for the classes in it."""
    return _importing_main


def refuse_in_worker() -> None:
    """Refuses to begin a run while a worker imports the user's script.

    Raises:
        InputError: In such a worker. Without the refusal each worker would start the run again.
    """
    if _importing_main:
        raise InputError(
            "the script begins a run when a worker process imports it",
            where="workers",
            value="process",
            remedy='put the lines that begin the run under `if __name__ == "__main__":`, or `pip install cloudpickle`',
        )


_importing_main = False


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _pickler_class() -> Any:
    """A pickler that stores tensors as numpy arrays; that of cloudpickle where it is installed."""
    try:
        base: Any = importlib.import_module("cloudpickle").Pickler
    except ImportError:
        base = pickle.Pickler

    class Pickler(base):  # type: ignore[misc]
        by_value = base is not pickle.Pickler

        def reducer_override(self, value: Any) -> Any:
            torch = sys.modules.get("torch")
            if torch is not None and type(value) is torch.Tensor and _is_plain(torch, value):
                return torch.from_numpy, (value.contiguous().numpy(),)
            return super().reducer_override(value) if self.by_value else NotImplemented

    return Pickler


def _is_plain(torch: Any, tensor: Any) -> bool:
    """Whether a tensor is nothing but numbers in the memory of the CPU, of a type that numpy has."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.requires_grad or tensor.is_conj() or tensor.is_neg() or tensor.is_quantized)
        and tensor.dtype is not torch.bfloat16
        and not getattr(tensor, "__dict__", None)
    )


def _main_of(pickler: Any, work: FlatLearner | NativeLearner, head: io.BytesIO) -> tuple[str, str] | None:
    """Pickles the learner; returns the script that a worker has to import for it, as a kind and a name."""
    pickler.dump(work)
    if pickler.by_value or b"__main__" not in head.getvalue():
        return None
    main = sys.modules["__main__"]
    if (name := getattr(main.__spec__, "name", None)) is not None:
        return "name", name
    if (path := getattr(main, "__file__", None)) is not None:
        return "path", path
    raise InputError(
        f"{type(work.learner).__name__} is defined in a notebook or at the prompt, where workers cannot import it",
        where="learner",
        value=work.learner,
        remedy="`pip install cloudpickle`, or move the code of the learner to a module",
    )


def _import_main(kind: str, name: str) -> None:
    """Imports the user's script under another name, so that lines below `if __name__ == "__main__"` do not run."""
    global _importing_main
    present = sys.modules["__main__"]
    if name in (getattr(present, "__file__", None), getattr(present.__spec__, "name", None)):
        return
    # The file __main__.py of a package does its work in any case, so it is not imported.
    if kind == "name" and (name == "__main__" or name.endswith(".__main__")):
        return
    main = types.ModuleType("__mp_main__")
    _importing_main = True
    try:
        run = runpy.run_path if kind == "path" else runpy.run_module
        main.__dict__.update(run(name, run_name="__mp_main__"))
    finally:
        _importing_main = False
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main
