"""Checks of arguments: a wrong type or value is an ``InputError`` with the argument, the value and a remedy.

Every public function passes its arguments through these checks before the native code sees them. Ranges that the native code
knows are checked there.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, overload

import numpy as np

from fedflip._errors import InputError
from fedflip._nearest import nearest

__all__ = [
    "choice",
    "count",
    "event",
    "flag",
    "function",
    "instance",
    "listed",
    "mapped",
    "number",
    "path_text",
    "shown",
    "text",
    "wrong",
]

COUNT_MAX = 2**64 - 1
_SHOWN_CHARS = 60


def shown(value: Any) -> str:
    """A value in a message, short: plain values as Python writes them, and of other objects the type."""
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    if value is None or isinstance(
        value, bool | int | float | str | bytes | list | dict | os.PathLike | np.generic
    ):
        try:
            written = repr(value)
        except Exception:
            # Python does not write whole numbers of thousands of digits.
            written = f"a {type(value).__name__} that is too large to show"
        return written if len(written) < _SHOWN_CHARS else written[: _SHOWN_CHARS - 3] + "…"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def wrong(where: str, value: Any, wanted: str, remedy: str = "") -> InputError:
    """The error of an argument that is not what it has to be."""
    return InputError(
        f"{where}: {shown(value)} is not {wanted}",
        where=where,
        value=value,
        remedy=remedy or f"give {wanted}",
    )


@overload
def number(
    where: str,
    value: Any,
    *,
    optional: Literal[False] = False,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    remedy: str = "",
) -> float: ...
@overload
def number(
    where: str,
    value: Any,
    *,
    optional: bool,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    remedy: str = "",
) -> float | None: ...
def number(
    where: str,
    value: Any,
    *,
    optional: bool = False,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    remedy: str = "",
) -> float | None:
    """A number, or None where the argument may be left out. A number with a limit is finite."""
    if value is None and optional:
        return None
    limits = [
        f"{word} {limit:g}"
        for word, limit in (("above", above), ("at least", least), ("at most", most))
        if limit is not None
    ]
    wanted = " ".join(["a number", " and ".join(limits)]).rstrip()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise wrong(where, value, wanted, remedy)
    try:
        found = float(value)
    except OverflowError:
        raise wrong(where, value, wanted, remedy) from None
    is_inside = (
        (above is None or found > above)
        and (least is None or found >= least)
        and (most is None or found <= most)
    )
    if limits and not (is_inside and math.isfinite(found)):
        raise wrong(where, value, wanted, remedy)
    return found


@overload
def count(
    where: str,
    value: Any,
    *,
    optional: Literal[False] = False,
    least: int = 0,
    most: int = COUNT_MAX,
    remedy: str = "",
) -> int: ...
@overload
def count(
    where: str, value: Any, *, optional: bool, least: int = 0, most: int = COUNT_MAX, remedy: str = ""
) -> int | None: ...
def count(
    where: str,
    value: Any,
    *,
    optional: bool = False,
    least: int = 0,
    most: int = COUNT_MAX,
    remedy: str = "",
) -> int | None:
    """A whole number that fits into 64 bits, or None where the argument may be left out."""
    if value is None and optional:
        return None
    wanted = f"a whole number from {least} to {most}"
    try:
        whole = operator.index(value)
    except TypeError:
        raise wrong(where, value, wanted, remedy) from None
    if isinstance(value, bool) or not least <= whole <= most:
        raise wrong(where, value, wanted, remedy)
    return whole


@overload
def text(where: str, value: Any, *, optional: Literal[False] = False, remedy: str = "") -> str: ...
@overload
def text(where: str, value: Any, *, optional: bool, remedy: str = "") -> str | None: ...
def text(where: str, value: Any, *, optional: bool = False, remedy: str = "") -> str | None:
    """A text, or None where the argument may be left out."""
    if value is None and optional:
        return None
    if not isinstance(value, str):
        raise wrong(where, value, "text", remedy)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _no_unicode(where, value) from None
    return value


def _no_unicode(where: str, value: Any) -> InputError:
    remedy = "remove the half of a surrogate pair; such texts come from bytes that were decoded wrongly"
    return InputError(
        f"{where}: {shown(value)} has a character that Unicode does not have",
        where=where,
        value=value,
        remedy=remedy,
    )


def flag(where: str, value: Any) -> bool:
    """Checks an argument that is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise wrong(where, value, "True or False")


@overload
def path_text(where: str, value: Any, *, optional: Literal[False] = False, remedy: str = "") -> str: ...
@overload
def path_text(where: str, value: Any, *, optional: bool, remedy: str = "") -> str | None: ...
def path_text(where: str, value: Any, *, optional: bool = False, remedy: str = "") -> str | None:
    """A path as text, or None where the argument may be left out."""
    if value is None and optional:
        return None
    if not isinstance(value, str | os.PathLike):
        raise wrong(where, value, "a path", remedy or "give a path as str or pathlib.Path")
    found = os.fsdecode(value)
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise _no_unicode(where, value) from None
    if not found:
        # An empty path would name the present folder, with whatever is in it.
        raise wrong(where, value, "a path", remedy or "name a file or a folder; '.' is the present folder")
    if "\0" in found:
        raise InputError(
            f"{where}: {shown(value)} has a zero byte, which no path has",
            where=where,
            value=value,
            remedy="remove the zero byte",
        )
    return found


def choice(where: str, value: Any, known: Sequence[str], *, remedy: str = "") -> str:
    """One of some texts; the error names the one that was probably meant."""
    if isinstance(value, str) and value in known:
        return value
    near = nearest(value, known) if isinstance(value, str) else None
    advice = f"did you mean {near}?" if near else remedy or f"choose one of {', '.join(known)}"
    raise InputError(f"there is no {where} {shown(value)}", where=where, value=value, remedy=advice)


def function(where: str, value: Any, *, optional: bool = False, remedy: str = "") -> Any:
    """Something that can be called, or None where the argument may be left out."""
    if callable(value) or (value is None and optional):
        return value
    raise wrong(where, value, "a function", remedy)


def instance(
    where: str,
    value: Any,
    kind: type | tuple[type, ...],
    wanted: str,
    *,
    optional: bool = False,
    remedy: str = "",
) -> Any:
    """An object of a class, or None where the argument may be left out."""
    if isinstance(value, kind) or (value is None and optional):
        return value
    raise wrong(where, value, wanted, remedy)


def event(where: str, value: Any) -> Any:
    """An event that another thread sets, or None."""
    if value is None or callable(getattr(value, "is_set", None)):
        return value
    raise wrong(where, value, "an event", f"write {where}=threading.Event()")


def listed(
    where: str, value: Any, wanted: str, *, each: Callable[[str, Any], Any] | None = None, remedy: str = ""
) -> list[Any]:
    """The values of a list, an array or any other iterable that is not a text; ``each`` checks one of them."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong(where, value, wanted, remedy)
    found = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if not isinstance(found, list):
        # An array without dimensions has one value.
        raise wrong(where, value, wanted, remedy)
    return found if each is None else [each(f"{where}[{place}]", one) for place, one in enumerate(found)]


def mapped(
    where: str, value: Any, wanted: str, each: Callable[..., Any], remedy: str, **limits: Any
) -> dict[str, Any]:
    """The values of a dict by name; ``each`` checks one of them. None is an empty dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(where, value, wanted, remedy)
    return {
        text(where, name, remedy=remedy): each(f"{where}[{name!r}]", one, remedy=remedy, **limits)
        for name, one in value.items()
    }
