"""What comparisons and sweeps have in common: schemes, seeds, a reference, and a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._scheme import Scheme

__all__ = ["DEFAULT_SCHEMES", "kept_in", "study"]

#: The default scheme, and the schemes of the paper's Table I.
DEFAULT_SCHEMES = ("auto", "full", "fixed=0.2", "weighted", "uniform", "paper")


def study(
    schemes: Sequence[Any], *, reference: Any, seeds: int, give_up: float | None, pilots: bool
) -> _fedflip.Study:
    """How to compare, checked and ready for the native code."""
    chosen = _chosen(schemes)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InputError(
            f"seeds is {seeds!r}; it must be a whole number, 1 or more",
            where="seeds",
            value=seeds,
            remedy="say how many runs each scheme has, such as seeds=3",
        )
    if reference is None:
        reference = "paper" if "paper" in chosen else chosen[0]
    base = reference if isinstance(reference, str) else _among(reference, chosen)
    return _fedflip.Study([_native(scheme) for scheme in chosen], _native(base), seeds, give_up, pilots)


def kept_in(out: str | os.PathLike[str] | None) -> tuple[Path, tempfile.TemporaryDirectory[str] | None]:
    """The folder of all runs. Without one, it is a temporary folder, which lives as long as the second result does."""
    if out is not None:
        return Path(out), None
    kept = tempfile.TemporaryDirectory(prefix="fedflip-")
    return Path(kept.name), kept


def _chosen(schemes: Sequence[Any]) -> list[str | Scheme]:
    """The schemes, each once; callables become schemes."""
    if isinstance(schemes, str):
        raise InputError(
            f"schemes is the text {schemes!r}",
            where="schemes",
            value=schemes,
            remedy=f"write schemes=[{schemes!r}]",
        )
    if not schemes:
        raise InputError(
            "schemes is empty", where="schemes", value=schemes, remedy="name at least one scheme"
        )
    chosen: list[str | Scheme] = [
        scheme if isinstance(scheme, (str, Scheme)) else Scheme(scheme) for scheme in schemes
    ]
    names = [scheme if isinstance(scheme, str) else f"custom={scheme.name}" for scheme in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"schemes has {twice} twice",
            where="schemes",
            value=twice,
            remedy="name each scheme once; give callables names of their own: ff.Scheme(draw, name='mine')",
        )
    return chosen


def _among(reference: Any, schemes: list[str | Scheme]) -> Scheme:
    """The scheme of the comparison that was made of this callable or object."""
    for scheme in schemes:
        if isinstance(scheme, Scheme) and reference in (scheme, scheme._draw):
            return scheme
    raise InputError(
        f"reference is {reference!r}, which is not one of the schemes",
        where="reference",
        value=reference,
        remedy="name one of the schemes that are compared",
    )


def _native(scheme: str | Scheme) -> str | _fedflip.CustomScheme:
    return scheme if isinstance(scheme, str) else scheme._native
