"""Learners made of PyTorch modules and data sets."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import nn
from torch.utils.data import Dataset

from fedflip._errors import InputError
from fedflip._key import TrainKey
from fedflip._learner_checks import DivergedError
from fedflip._learner_layout import Array
from fedflip._metrics import Direction, checked_directions
from fedflip._torch_arguments import (
    check_functions,
    check_lengths,
    check_sets,
    checked_device,
    checked_optimizer,
)
from fedflip._torch_batches import batch_indices, batch_indices_epochs
from fedflip._torch_context import keyed, lock
from fedflip._torch_data import Collate, moved
from fedflip._torch_evaluate import Forward, Loss, output_and_target, scalar, score
from fedflip._torch_module import Replica
from fedflip._torch_store import SampleStore

__all__ = ["TorchLearner"]

Optimizer = Callable[[Iterable[nn.Parameter], float], torch.optim.Optimizer]
Evaluate = Callable[[nn.Module], Mapping[str, float | tuple[float, float]]]


class TorchLearner:
    """A learner that trains a torch module on one data set per device.

    Models travel as flat float32 arrays. They hold the parameters that require a gradient, and the floating-point buffers
    of ``state_dict``, such as the running statistics of batch normalisation, sorted by name. Frozen parameters and buffers
    of whole numbers stay in each process as ``make_model`` made them, so the backbone of a LoRA model never travels.

    Training is a pure function of model and key. ``fedflip.seed_torch`` seeds torch, numpy and random from the key
    before each training; batches are those of native tasks with the same key; torch uses one thread and deterministic
    kernels, and every buffer that stays gets its first value back. The former state of torch is restored afterwards.

    Args:
        make_model: A function that makes a module. It is called in every process with the same seed,
            ``TrainKey(backbone_seed, 0, 0)``, so that frozen parameters are the same everywhere.
        datasets: One map-style ``torch.utils.data.Dataset`` for each device; any sequence, also one that loads lazily.
        loss: A function of output and target whose value is the mean over a batch, such as ``nn.CrossEntropyLoss()``.
        steps: The number of steps of a training. Give this or ``epochs``.
        epochs: The number of passes through a device's own samples. Give this or ``steps``.
        batch: The number of samples of a step.
        lr: The learning rate. The rate factor of a key multiplies it.
        optimizer: A function of parameters and learning rate that makes an optimiser, for example
            ``lambda params, lr: torch.optim.Adam(params, lr)``. Every training has a new one. The default is plain SGD.
        evaluate: A function of a module in evaluation mode that returns metrics: values, or tuples of sum and weight.
        test: A data set on which loss and, for classifiers, accuracy are computed, if there is no ``evaluate``.
        metrics: The names that ``evaluate`` returns, each with ``"max"`` or ``"min"``; the headline first.
        forward: A function of module and batch that returns output and target. By default the last part of a batch is the
            target, and the others are the inputs.
        collate_fn: Puts samples together to a batch, as in ``torch.utils.data.DataLoader``.
        device: The torch device; by default a GPU if there is one.
        cache_mb: Samples of data sets that are not random are kept as tensors in up to this many megabytes. The bound is that
            of one process: with ``workers="process"``, each worker may keep as much.
        backbone_seed: The seed with which ``make_model`` makes what does not travel.

    Raises:
        InputError: If an argument cannot be used.

    Examples:
        >>> from torch.utils.data import TensorDataset
        >>> data = [TensorDataset(torch.randn(20, 4), torch.arange(20) % 3) for _ in range(5)]
        >>> learner = TorchLearner(lambda: nn.Linear(4, 3), data, nn.CrossEntropyLoss(), steps=10, batch=8, lr=0.1)
        >>> update, loss = learner.train(learner.initial(seed=1), TrainKey(seed=1, round=1, device=0))
        >>> learner.tensors(), update.shape
        ([('bias', (3,)), ('weight', (3, 4))], (15,))
    """

    def __init__(
        self,
        make_model: Callable[[], nn.Module],
        datasets: Sequence[Dataset[Any]],
        loss: Loss,
        *,
        steps: int | None = None,
        epochs: int | None = None,
        batch: int,
        lr: float,
        optimizer: Optimizer | None = None,
        evaluate: Evaluate | None = None,
        test: Dataset[Any] | None = None,
        metrics: Mapping[str, Direction] | None = None,
        forward: Forward | None = None,
        collate_fn: Collate | None = None,
        device: str | torch.device | None = None,
        cache_mb: float = 1024.0,
        backbone_seed: int = 0,
    ) -> None:
        check_functions(
            make_model, loss, optimizer=optimizer, evaluate=evaluate, forward=forward, collate_fn=collate_fn
        )
        check_sets(datasets, test)
        check_lengths(steps, epochs, batch, lr, cache_mb, backbone_seed)
        self._make_model, self._loss = make_model, loss
        self._store = SampleStore(datasets, test, collate_fn, cache_mb)
        self._steps, self._epochs, self._batch, self._lr = steps, epochs, batch, lr
        self._optimizer, self._evaluate = optimizer, evaluate
        self._metrics = None if metrics is None else checked_directions(metrics, "metrics")
        self._forward = forward or output_and_target
        self._device, self._backbone_seed = checked_device(device), backbone_seed
        self.devices = len(datasets)
        self._ready()

    def _ready(self) -> None:
        """Makes what does not travel to other processes."""
        self._made: Replica | None = None
        self._used_loss: Loss | None = None

    def __getstate__(self) -> dict[str, Any]:
        process = ("_made", "_used_loss")
        return {name: value for name, value in self.__dict__.items() if name not in process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready()

    def __repr__(self) -> str:
        length = f"steps={self._steps}" if self._epochs is None else f"epochs={self._epochs}"
        made = getattr(self._make_model, "__name__", type(self._make_model).__name__)
        return f"TorchLearner({made}, {self.devices} devices, {length}, batch={self._batch}, lr={self._lr:g})"

    def samples(self, device: int) -> int:
        """The number of samples that a device holds."""
        return self._store.count(device)

    def relative_cost(self, device: int) -> int:
        """How long training on a device takes, in any unit."""
        return 1 if self._epochs is None else self.samples(device)

    def tensors(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of what travels, in the order of a flat model."""
        return list(self._replica().layout.tensors)

    def initial(self, seed: int) -> Array:
        """The model before the first round: what travels of a module that is made with this seed."""
        layout = self._replica().layout
        made = Replica(self._make(seed), torch.device("cpu"))
        if made.layout != layout:
            raise InputError(
                "make_model made a module with other parameters than before",
                where="make_model",
                value=made.layout.tensors,
                remedy="make the same module in every call",
            )
        return made.model()

    def train(self, model: Array, key: TrainKey) -> tuple[Array, float]:
        """Trains on one device; returns local model − model, and the mean loss of the steps."""
        samples = self._store.samples(key.device)
        picks = self._picks(key)
        replica = self._replica()
        with keyed(key, "train"), torch.enable_grad():
            replica.load(model)
            replica.module.train()
            losses = self._steps_of(replica, samples.batches(picks), self._lr * key.rate_factor)
            mean = torch.stack(losses).double().mean().item()
            update = replica.change()
        if not math.isfinite(mean):
            step = next(number for number, loss in enumerate(losses, 1) if not math.isfinite(loss.item()))
            raise DivergedError(
                f"device {key.device}, round {key.round}: the loss is {losses[step - 1].item()} in step {step}",
                device=key.device,
                round=key.round,
                remedy="lower the learning rate",
            )
        return update, mean

    def loss(self, model: Array, device: int) -> float:
        """The mean loss of a model on all samples of a device."""
        samples = self._store.samples(device)
        count = self._store.count_at_least_one(device)
        replica = self._replica()
        with keyed(TrainKey(0, 0, device), "loss"):
            replica.load(model)
            replica.module.eval()
            total = score(
                replica.module,
                samples,
                count,
                self._batch,
                self._forward,
                self._loss_here(),
                self._torch_device(),
            )
        return total.loss / count

    def evaluate(self, model: Array) -> Mapping[str, float | tuple[float, float]]:
        """The metrics of ``evaluate``, or loss and accuracy on ``test``; nothing without either."""
        if self._evaluate is None:
            count = self._store.test_count
            return {} if count is None else self._tested(model, count)
        replica = self._replica()
        with keyed(TrainKey(0, 0, 0), "evaluate"), torch.no_grad():
            replica.load(model)
            replica.module.eval()
            return self._evaluate(replica.module)

    @property
    def metrics(self) -> Mapping[str, Direction] | None:
        """The metrics of an evaluation, as far as they are known without one."""
        if self._metrics is None and self._evaluate is None:
            count = self._store.test_count
            names = [] if count is None else self._tested(self.initial(0), min(2, count))
            self._metrics = {name: "max" if name == "accuracy" else "min" for name in names}
        return self._metrics

    def state_dict(self, model: Array | Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """A model as a full ``state_dict`` on the CPU, which ``load_state_dict`` of the module accepts.

        Args:
            model: A flat float32 array, or arrays by name such as ``Run.model``.

        Raises:
            InputError: If the model is not one of this learner.
        """
        replica = self._replica()
        with lock:
            replica.load(replica.named(model))
            return {
                name: tensor.detach().cpu().clone() for name, tensor in replica.module.state_dict().items()
            }

    def model_of(self, module: nn.Module | Mapping[str, Any]) -> Array:
        """The flat model of a module, or of a ``state_dict``: what travels of it.

        Raises:
            InputError: If it lacks a tensor, or one has another shape or no floating-point numbers.
        """
        replica = self._replica()
        if not isinstance(module, nn.Module):
            return replica.named(module, "module")
        # Parameters that share their memory have one name here, and several in a state_dict.
        return replica.named({**module.state_dict(), **dict(module.named_parameters())}, "module")

    def _steps_of(self, replica: Replica, batches: Iterable[Any], lr: float) -> list[torch.Tensor]:
        device, module, loss_of, params = (
            self._torch_device(),
            replica.module,
            self._loss_here(),
            replica.params,
        )
        optimizer = None if self._optimizer is None else checked_optimizer(self._optimizer(params, lr))
        losses = []
        for batch in batches:
            output, target = self._forward(module, batch if device.type == "cpu" else moved(batch, device))
            loss = scalar(loss_of(output, target))
            for parameter in params:
                parameter.grad = None
            loss.backward()  # type: ignore[no-untyped-call]
            if optimizer is None:
                with torch.no_grad():
                    for parameter in params:
                        if parameter.grad is not None:
                            parameter.add_(parameter.grad, alpha=-lr)
            else:
                optimizer.step()
            losses.append(loss.detach())
        for parameter in params:
            parameter.grad = None
        return losses

    def _picks(self, key: TrainKey) -> Sequence[Any]:
        draw = (key.seed, key.round, key.device, self._store.count_at_least_one(key.device), self._batch)
        if self._epochs is not None:
            return batch_indices_epochs(*draw, self._epochs)
        return list(batch_indices(*draw, cast(int, self._steps)))

    def _tested(self, model: Array, count: int) -> Mapping[str, float | tuple[float, float]]:
        samples = self._store.samples(None)
        replica = self._replica()
        with keyed(TrainKey(0, 0, 0), "evaluate"):
            replica.load(model)
            replica.module.eval()
            batch = max(self._batch, 256)
            return score(
                replica.module, samples, count, batch, self._forward, self._loss_here(), self._torch_device()
            ).metrics()

    def _replica(self) -> Replica:
        with lock:
            if self._made is None:
                self._made = Replica(self._make(self._backbone_seed), self._torch_device())
            return self._made

    def _make(self, seed: int) -> nn.Module:
        with keyed(TrainKey(seed, 0, 0), "model"):
            module = self._make_model()
        if not isinstance(module, nn.Module):
            raise InputError(
                f"make_model returned a {type(module).__name__}, not a torch.nn.Module",
                where="make_model",
                value=module,
                remedy="return the module",
            )
        return module

    def _loss_here(self) -> Loss:
        """The loss on the device of the module."""
        if self._used_loss is None:
            self._used_loss = self._loss
            if isinstance(self._loss, nn.Module) and self._torch_device().type != "cpu":
                self._used_loss = copy.deepcopy(self._loss).to(self._torch_device())
        return self._used_loss

    def _torch_device(self) -> torch.device:
        if self._device is not None:
            return self._device
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
