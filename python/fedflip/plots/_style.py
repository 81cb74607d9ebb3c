"""Axes, colours and kinds of devices, the same in all pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fedflip._errors import InputError
from fedflip._fleet_plot import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that people with any kind of colour vision tell apart, after Okabe and Ito, without their yellow, which is too
# light for a line on white.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
GREY = "#8C8C8C"
_DASHES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
# Known schemes in the order of colours, so that a scheme looks the same in all pictures.
_SCHEMES = ("auto", "full", "paper", "uniform", "weighted", "exact", "fixed", "tight", "sampled")
# Device types with a colour of their own; all others are one kind.
_KINDS_MAX = 7
# More devices than this are thinned out, because nobody can tell them apart.
DEVICES_MAX = 5000


def axes(ax: Axes | None, where: str, size: tuple[float, float]) -> Axes:
    """The Axes to draw into: those of the caller, or those of a new figure."""
    if ax is None:
        _, new = pyplot(where).subplots(figsize=size, layout="constrained")
        ax = new
    elif not hasattr(ax, "plot"):
        raise InputError(
            f"ax is {type(ax).__name__}, and should be the Axes of matplotlib",
            where="ax",
            value=ax,
            remedy="give one Axes, such as plt.subplots()[1], or leave it out",
        )
    assert ax is not None
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def grid(ax: Axes, axis: Any = "both") -> None:
    """Light lines behind the data."""
    ax.grid(visible=True, axis=axis, color="#D9D9D9", linewidth=0.6)


def legend_beside(ax: Axes, **more: Any) -> Any:
    """The legend at the right of the Axes, where it hides no data."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0), "borderaxespad": 0.0}
    return ax.legend(frameon=False, fontsize="small", labelspacing=0.35, **place, **more)


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour and dashes for each name: no two look the same, and known schemes look the same in all pictures."""
    looks = [(colour, dashes) for dashes in _DASHES for colour in COLOURS]
    free = list(looks)
    styles: dict[str, dict[str, Any]] = {}

    def known(name: str) -> int | None:
        stem = name.split("=")[0].split("-")[0]
        return _SCHEMES.index(stem) if stem in _SCHEMES else None

    # Those with a look of their own first.
    for name in sorted(names, key=lambda name: known(name) is None):
        place = known(name)
        look = looks[place] if place is not None and looks[place] in free else (free or looks)[0]
        if look in free:
            free.remove(look)
        styles[name] = {"color": look[0], "linestyle": look[1]}
    return styles


def device_type(name: str) -> str:
    """The type of a device: its name without the number at the end.

    Examples:
        >>> device_type("honor-70-07"), device_type("42")
        ('honor-70', '42')
    """
    return name.rstrip("0123456789").rstrip("-_ .#") or name


def kinds(names: Iterable[str]) -> list[tuple[str, list[int], dict[str, Any]]]:
    """The types of devices: label, positions, colour and marker. If there are too many types, the last kind is all others."""
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        positions.setdefault(device_type(name), []).append(position)
    if len(positions) == sum(map(len, positions.values())) > 1:
        # Every device is its own type: that says nothing.
        positions = {"": [position for all_of in positions.values() for position in all_of]}
    named = sorted(positions.items(), key=lambda item: -len(item[1]))
    shown = [named[place] for place in range(min(len(named), _KINDS_MAX))]
    if len(named) > _KINDS_MAX:
        rest = [position for _, all_of in named[_KINDS_MAX - 1 :] for position in all_of]
        shown[-1] = (f"{len(named) - _KINDS_MAX + 1} other types", sorted(rest))
    first = {label: place for place, label in enumerate(positions)}
    shown.sort(key=lambda item: first.get(item[0], len(first)))
    return [
        (label, all_of, {"color": COLOURS[place % len(COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]})
        for place, (label, all_of) in enumerate(shown)
    ]


def thinned(devices: int) -> range:
    """Positions of devices to draw: all, or one in every few."""
    return range(0, devices, -(-devices // DEVICES_MAX) if devices > DEVICES_MAX else 1)
