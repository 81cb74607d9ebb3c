"""The schemes of a comparison: names, plans and schemes of one's own."""

from __future__ import annotations

from typing import Any, NamedTuple

from fedflip import _fedflip
from fedflip._arguments import listed, text
from fedflip._errors import InputError
from fedflip._plan import Plan
from fedflip._work_plans import as_scheme

__all__ = ["Chosen", "chosen_schemes", "reference_of"]

Native = str | _fedflip.CustomScheme | tuple[_fedflip.Plan, str]


class Chosen(NamedTuple):
    """A scheme of a comparison."""

    #: As the caller gave it.
    given: Any
    #: The name in records and tables.
    name: str
    #: What the native code takes.
    native: Native


def chosen_schemes(schemes: Any) -> list[Chosen]:
    """The schemes to compare.

    Raises:
        InputError: If there is none, one is not a scheme, or two have the same name.
    """
    remedy = (
        f"write schemes={schemes.split(',')!r}"
        if isinstance(schemes, str)
        else "write schemes=['auto', 'full']"
    )
    chosen: list[Chosen] = []
    for place, scheme in enumerate(listed("schemes", schemes, "a list of schemes", remedy=remedy)):
        files = sum(each.name.startswith(_FILE) for each in chosen)
        chosen.append(_chosen(f"schemes[{place}]", scheme, files))
    if not chosen:
        raise InputError(
            "schemes is empty", where="schemes", value=schemes, remedy="name at least one scheme"
        )
    names = [each.name for each in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"schemes has {twice} twice",
            where="schemes",
            value=twice,
            remedy=(
                "name each scheme once; compare plans of one scheme with ff.Plan.from_q(fleet, plan.q, bandwidth_mbps=…), or with "
                "ff.sweep(…, over={'variance': […]})"
                if any(isinstance(each.given, Plan) for each in chosen if each.name == twice)
                else "name each scheme once; give callables names of their own: ff.Scheme(draw, name='mine')"
            ),
        )
    return chosen


_FILE = "file=plan"


def _chosen(where: str, scheme: Any, files: int) -> Chosen:
    if isinstance(scheme, str):
        return Chosen(scheme, text(where, scheme), scheme)
    if isinstance(scheme, Plan):
        file = f"plan-{files + 1}.csv" if files else "plan.csv"
        name = f"file={file}" if scheme.scheme == "given" else scheme.scheme
        return Chosen(scheme, name, (scheme._native, file))
    made = as_scheme(where, scheme)
    return Chosen(scheme, f"custom={made.name}", made._native)


def reference_of(reference: Any, chosen: list[Chosen]) -> Native:
    """The scheme with which ratios compare: the one that is asked for, or ``paper``, or the first."""
    if reference is None:
        return next((each for each in chosen if each.name == "paper"), chosen[0]).native
    for each in chosen:
        if each.given is reference or (isinstance(reference, str) and each.name == reference):
            return each.native
        if isinstance(reference, Plan) and isinstance(each.given, Plan) and each.given == reference:
            return each.native
    if isinstance(reference, str):
        # There are several ways to write a name, such as fixed=0.2 and fixed=0.20.
        return text("reference", reference)
    raise InputError(
        f"reference is {reference!r}, which is not one of the schemes",
        where="reference",
        value=reference,
        remedy="name one of the schemes that are compared",
    )
