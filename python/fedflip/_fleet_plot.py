"""Draws the devices of a fleet."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from fedflip._errors import InputError

if TYPE_CHECKING:
    from fedflip._fleet import Fleet

_BINS = 24


def pyplot(where: str) -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise InputError(
            "pictures need matplotlib, which is not installed",
            where=where,
            remedy="pip install matplotlib",
        ) from None


def plot_fleet(fleet: Fleet) -> Any:
    """Histograms of compute times, upload times and samples on logarithmic scales."""
    plt = pyplot("plot")
    panels = [
        (fleet.compute_secs, "compute a round (s)"),
        (fleet.comm_secs, "send a round at 1 Mbit/s (s)"),
        (fleet.samples, "samples"),
    ]
    figure, axes = plt.subplots(1, len(panels), figsize=(11, 3), layout="constrained")
    for axis, (values, title) in zip(axes, panels, strict=True):
        positive = values[values > 0]
        if positive.size and positive.max() > positive.min():
            axis.hist(positive, bins=np.geomspace(positive.min(), positive.max(), _BINS + 1))
            axis.set_xscale("log")
        else:
            axis.hist(values, bins=_BINS)
        axis.set_xlabel(title)
    axes[0].set_ylabel("devices")
    figure.suptitle(f"{len(fleet)} devices")
    return figure
