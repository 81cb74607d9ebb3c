"""Losses and accuracies of a torch module on whole data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from fedflip._errors import InputError, LearnerError
from fedflip._torch_data import Samples, moved

__all__ = ["Forward", "Loss", "Score", "output_and_target", "scalar", "score"]

Forward = Callable[[nn.Module, Any], tuple[torch.Tensor, Any]]
Loss = Callable[[Any, Any], torch.Tensor]


def output_and_target(module: nn.Module, batch: Any) -> tuple[torch.Tensor, Any]:
    """The output of a module for a batch whose last part is the target, and the target."""
    if not isinstance(batch, (list, tuple)) or len(batch) < 2:
        raise LearnerError(
            f"a batch is a {type(batch).__name__}, where fedflip expects a list of inputs and a target",
            remedy="say how to use a batch: TorchLearner(…, forward=lambda module, batch: (output, target))",
        )
    return module(*batch[:-1]), batch[-1]


class Score:
    """Sums over samples, in the order in which the samples came."""

    def __init__(self) -> None:
        self.loss = 0.0
        self.samples = 0
        self.correct = 0
        self.classified = 0

    def metrics(self) -> dict[str, tuple[float, float]]:
        """The metrics as sum and weight; accuracy only of a classifier, and then as the headline."""
        accuracy = {"accuracy": (float(self.correct), float(self.classified))} if self.classified else {}
        return {**accuracy, "loss": (self.loss, float(self.samples))}


def score(
    module: nn.Module,
    samples: Samples,
    count: int,
    batch: int,
    forward: Forward,
    loss: Loss,
    device: torch.device,
) -> Score:
    """Adds up the loss and the correct answers of a module over the first samples of a data set."""
    total = Score()
    positions = np.arange(count)
    picks = [positions[first : first + batch] for first in range(0, count, batch)]
    with torch.no_grad():
        for pick, tensors in zip(picks, samples.batches(picks), strict=False):
            output, target = forward(module, moved(tensors, device))
            total.loss += float(scalar(loss(output, target))) * len(pick)
            total.samples += len(pick)
            if _is_classification(output, target):
                total.correct += int((output.argmax(1) == target).sum())
                total.classified += target.numel()
    return total


def _is_classification(output: Any, target: Any) -> bool:
    """Whether the target is a class, and the output has a score for each class in its second dimension."""
    if not (isinstance(output, torch.Tensor) and isinstance(target, torch.Tensor)):
        return False
    classes = not (target.is_floating_point() or target.is_complex() or target.dtype is torch.bool)
    return classes and output.ndim >= 2 and output.shape[:1] + output.shape[2:] == target.shape


def scalar(loss: Any) -> torch.Tensor:
    """The argument, if it is a tensor with one number."""
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        shape = tuple(loss.shape) if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise InputError(
            f"loss returned {shape}, where fedflip expects one number for a batch",
            where="loss",
            value=shape,
            remedy='use a loss with reduction="mean"',
        )
    return loss
