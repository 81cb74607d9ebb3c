"""A torch module whose parameters and float buffers travel, and whose other state stays as it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from fedflip._arguments import shown
from fedflip._errors import InputError
from fedflip._learner_layout import Array, Layout

__all__ = ["Replica"]


class Replica:
    """One module of a process, which takes models in and gives updates out.

    What travels: parameters that require a gradient, and buffers of floating-point numbers that are part of the module's
    ``state_dict``. What stays: frozen parameters, buffers of whole numbers, and buffers that ``state_dict`` leaves out. These
    buffers get their first values back before every training, so that trainings do not depend on each other.

    Args:
        module: The module, as ``make_model`` made it.
        device: The torch device to train on.

    Raises:
        InputError: If the module has no parameters to train, or parameters that cannot travel.
    """

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module = module.to(device)
        self.params = [parameter for parameter in module.parameters() if parameter.requires_grad]
        saved = set(module.state_dict())
        travelling: dict[str, tuple[dict[str, Any], str]] = {}
        self._staying: list[tuple[dict[str, Any], str, torch.Tensor]] = []
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                _check(name, parameter)
                travelling[name] = _owner(module, name, "_parameters")
        for name, buffer in module.named_buffers():
            owner = _owner(module, name, "_buffers")
            if name in saved and buffer.is_floating_point():
                travelling[name] = owner
            else:
                self._staying.append((*owner, buffer.detach().clone()))
        if not self.params:
            raise InputError(
                f"{type(module).__name__} has no parameters that require a gradient",
                where="make_model",
                value=type(module).__name__,
                remedy="leave requires_grad of some parameters at True",
            )
        self._places = [travelling[name] for name in sorted(travelling)]
        shapes = {name: tuple(table[key].shape) for name, (table, key) in travelling.items()}
        self.layout = Layout(shapes)
        self.layout.named = False
        # The model on the device, and a view of each tensor in it.
        self._model = torch.empty(self.layout.size, device=device)
        self._views = self._split(self._model)
        self._host = self._model if device.type == "cpu" else torch.empty(self.layout.size)

    def load(self, model: Array) -> None:
        """Puts the numbers of a flat model into the module, and resets what stays.

        Raises:
            InputError: If the model is not a flat float32 array of the right length.
        """
        self._host.numpy()[...] = self._checked(model)
        if self._host is not self._model:
            self._model.copy_(self._host)
        with torch.no_grad():
            for (table, key), view in zip(self._places, self._views, strict=False):
                table[key].copy_(view)
            for table, key, first in self._staying:
                _reset(table, key, first)

    def change(self) -> Array:
        """The numbers in the module minus those that were loaded."""
        change = self._collected()
        torch.sub(change, self._model, out=change)
        return self._flat(change)

    def model(self) -> Array:
        """The numbers in the module, flat."""
        return self._flat(self._collected())

    def named(self, model: Array | Mapping[str, Any], where: str = "model") -> Array:
        """A model by name, of arrays or tensors, as a flat array. Names that do not travel are left out.

        Raises:
            InputError: If a tensor is missing, or has another shape or other numbers than floating-point ones.
        """
        if not isinstance(model, Mapping):
            return self._checked(model, where)
        missing = [name for name, _ in self.layout.tensors if name not in model]
        if missing:
            raise InputError(
                f"the model lacks the tensor {missing[0]!r}",
                where=where,
                value=list(model),
                remedy="use a model or a state_dict of the same module",
            )
        flat = np.empty(self.layout.size, np.float32)
        for name, (first, last, shape) in self.layout.places.items():
            tensor = _floats(f"{where}[{name!r}]", name, model[name])
            if tuple(tensor.shape) != shape:
                raise InputError(
                    f"the tensor {name!r} has the shape {tuple(tensor.shape)}, but the module has {shape}",
                    where=f"{where}[{name!r}]",
                    value=tuple(tensor.shape),
                    remedy="use a model or a state_dict of the same module",
                )
            flat[first:last].reshape(shape)[...] = tensor.detach().float().cpu().numpy()
        return flat

    def _checked(self, model: Any, where: str = "model") -> Array:
        """A flat model. Numpy would repeat a shorter one, and round numbers of another precision."""
        if isinstance(model, np.ndarray) and model.shape == (self.layout.size,) and model.dtype == np.float32:
            return model
        raise InputError(
            f"the model is {shown(model)}, but the module has {self.layout.size:,} float32 parameters",
            where=where,
            value=model,
            remedy="use a model of this learner, flat and float32",
        )

    def _collected(self) -> torch.Tensor:
        flat = torch.empty_like(self._model)
        with torch.no_grad():
            for (table, key), view in zip(self._places, self._split(flat), strict=False):
                view.copy_(table[key])
        return flat

    def _split(self, flat: torch.Tensor) -> list[torch.Tensor]:
        places = [self.layout.places[name] for name, _ in self.layout.tensors]
        return [flat[first:last].view(shape) for first, last, shape in places]

    @staticmethod
    def _flat(tensor: torch.Tensor) -> Array:
        array: Array = tensor.cpu().numpy()
        return array


def _floats(where: str, name: str, value: Any) -> torch.Tensor:
    """A tensor of a model by name, if it holds floating-point numbers."""
    try:
        tensor = torch.as_tensor(np.array(value) if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError, RuntimeError):
        tensor = None
    if tensor is not None and tensor.is_floating_point():
        return tensor
    raise InputError(
        f"the tensor {name!r} is {shown(value)}, not an array of floating-point numbers",
        where=where,
        value=value,
        remedy="use a model or a state_dict of the same module",
    )


def _owner(module: nn.Module, name: str, table: str) -> tuple[dict[str, Any], str]:
    """The table of the submodule that holds a tensor, and its key there. Modules may put another tensor there."""
    path, _, key = name.rpartition(".")
    return getattr(module.get_submodule(path), table), key


def _reset(table: dict[str, Any], key: str, first: torch.Tensor) -> None:
    now = table.get(key)
    if now is None or now.shape != first.shape or now.dtype != first.dtype:
        table[key] = first.clone()
    else:
        now.copy_(first)


def _check(name: str, parameter: torch.Tensor) -> None:
    if isinstance(parameter, nn.parameter.UninitializedParameter):
        raise InputError(
            f"the parameter {name!r} has no shape yet",
            where="make_model",
            value=name,
            remedy="pass one batch through a module with lazy layers before make_model returns it",
        )
    if not parameter.is_floating_point():
        raise InputError(
            f"the parameter {name!r} has the dtype {parameter.dtype}, which cannot travel as float32",
            where="make_model",
            value=str(parameter.dtype),
            remedy="use parameters of real floating-point numbers",
        )
