"""What comparisons and sweeps have in common: schemes, seeds, a reference, and a folder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from fedflip import _fedflip
from fedflip._arguments import count, flag, instance, number, wrong
from fedflip._compare_schemes import chosen_schemes, reference_of
from fedflip._errors import InputError
from fedflip._plan import Plan

__all__ = ["DEFAULT_SCHEMES", "Study", "kept_in", "study"]

#: The default scheme, and the schemes of the paper's Table I.
DEFAULT_SCHEMES = ("auto", "full", "fixed=0.2", "weighted", "uniform", "paper")


_SEEDS_MAX = 10_000


class Study(NamedTuple):
    """How to compare, checked and ready."""

    native: _fedflip.Study
    #: The plans among the schemes, whose fleet and costs all runs have.
    plans: list[Plan]


def study(
    schemes: Any, *, reference: Any, seeds: Any, give_up: Any, pilots: Any, shard: Any, out: Any
) -> Study:
    """How to compare, for the native code.

    Raises:
        InputError: If a scheme, the reference, or one of the numbers cannot be used.
    """
    chosen = chosen_schemes(schemes)
    first = reference_of(reference, chosen)
    plans = [each.given for each in chosen if isinstance(each.given, Plan)]
    # Constants that a plan was made with are those of all runs.
    measures = flag("pilots", pilots) and all(plan.alpha is None for plan in plans)
    runs = count(
        "seeds", seeds, least=1, most=_SEEDS_MAX, remedy="say how many runs each scheme has, such as seeds=3"
    )
    limit = number("give_up", give_up, optional=True, above=0, remedy="give a multiple such as 10, or None")
    part = _checked_shard(shard, out)
    return Study(_fedflip.Study([each.native for each in chosen], first, runs, limit, measures, part), plans)


def _checked_shard(shard: Any, out: Any) -> tuple[int, int] | None:
    """The part of the runs to do, and the number of parts; None for all runs."""
    if shard is None:
        return None
    remedy = "write shard=(i, n), such as shard=(0, 3): i counts from 0 and is below n"
    pair = instance("shard", shard, (tuple, list), "a pair (i, n)", remedy=remedy)
    if len(pair) != 2:
        raise wrong("shard", shard, "a pair (i, n)", remedy)
    parts = count("shard", pair[1], least=1, remedy=remedy)
    index = count("shard", pair[0], most=parts - 1, remedy=remedy)
    if out is None:
        raise InputError(
            "shard is given without out, so nobody could compare its runs with those of the others",
            where="out",
            value=out,
            remedy="give the folder of the comparison with out=",
        )
    return index, parts


def kept_in(out: str | None) -> tuple[Path, tempfile.TemporaryDirectory[str] | None]:
    """The folder of all runs. Without one, it is a temporary folder, which lives as long as the second result does."""
    if out is not None:
        return Path(out), None
    kept = tempfile.TemporaryDirectory(prefix="fedflip-")
    return Path(kept.name), kept
