"""Plans and schemes of one's own as arguments of runs and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fedflip._arguments import wrong
from fedflip._errors import InputError
from fedflip._overrides import Override
from fedflip._plan import Plan
from fedflip._scheme import Scheme

__all__ = ["as_scheme", "refuse_beside_plan", "refuse_without_device", "shared_overrides"]

#: Keys that a plan decides.
_PLANNED = frozenset(
    [
        "plan.scheme",
        "plan.alpha",
        "plan.beta",
        "plan.variance",
        "fleet.bandwidth_mbps",
        "fleet.spectrum_mhz",
        "round.overhead_secs",
    ]
)


def as_scheme(where: str, value: Any) -> Scheme:
    """A scheme of one's own, or a callable that draws cohorts."""
    if isinstance(value, Scheme):
        return value
    if not callable(value):
        remedy = (
            "give a Plan, the name of a scheme such as 'auto', or a function of round, seed and fleet that returns a "
            "cohort and its weights"
        )
        raise wrong(where, value, "a plan or a scheme", remedy)
    return Scheme(value)


def refuse_beside_plan(overrides: Iterable[Override], plan: Plan) -> None:
    """A plan has a scheme, constants, a bandwidth and costs of its own; a bandwidth that is the same does no harm."""
    for override in overrides:
        is_same = override.key == "fleet.bandwidth_mbps" and override.value == plan.bandwidth_mbps
        if override.key in _PLANNED and not is_same:
            raise InputError(
                f"{override.key} is given beside a plan, which was made for its own",
                where=override.key,
                value=override.value,
                remedy=f"leave {override.key.rpartition('.')[2]} out, or plan with it",
            )


def refuse_without_device(plan: Plan) -> None:
    """Refuses a plan in which a device never takes part: its data would be missing from the model."""
    left_out = np.flatnonzero(plan.q == 0.0)
    if left_out.size:
        device = plan.fleet.names[int(left_out[0])]
        raise InputError(
            f"{device} never takes part in this plan: its q is 0",
            where="plan",
            value=plan,
            remedy="plan for a fleet without it, and train on the data of the others",
        )


def shared_overrides(plans: Sequence[Plan]) -> list[Override]:
    """The keys that all schemes of a comparison take from the plans among them.

    Raises:
        InputError: If the plans were made for different fleets, bandwidths, costs or constants.
    """
    shared: dict[str, Override] = {}
    for plan in plans:
        if plan.fleet != plans[0].fleet:
            raise InputError(
                "the plans are for different fleets",
                where="schemes",
                value=plan,
                remedy="plan for one fleet: all runs of a comparison have the same devices",
            )
        for override in map(Override.of_text, plan._native.shared_keys()):
            known = shared.setdefault(override.key, override)
            if known.value != override.value:
                raise InputError(
                    f"the plans have different values of {override.key}: {known.value!r} and {override.value!r}",
                    where="schemes",
                    value=plan,
                    remedy="plan with equal settings, which all runs of a comparison have; "
                    "ff.Plan.from_q(fleet, plan.q, bandwidth_mbps=…) has the probabilities of a plan alone",
                )
    return list(shared.values())
