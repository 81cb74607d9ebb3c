"""Plans by a scheme."""

from __future__ import annotations

import logging
from typing import Any

from fedflip._arguments import number, text
from fedflip._fleet import as_fleet
from fedflip._plan import Plan
from fedflip._plan_arguments import Pilots, costs_of, goal_of

__all__ = ["plan"]

_logger = logging.getLogger("fedflip.plan")


def plan(
    fleet: Any,
    *,
    bandwidth_mbps: float | None = None,
    scheme: str | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    pilots: Pilots | None = None,
    variance: float | None = None,
    overhead_secs: float = 0.0,
    spectrum_mhz: float | None = None,
    downlink: str = "none",
    downlink_bandwidth_mbps: float | None = None,
    downlink_ratio: float = 1.0,
    step_secs: float | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> Plan:
    """Chooses the participation probabilities that reach the target in the least time.

    The plan is that of ``fedflip plan`` with the same settings, to the bit. Warnings go to the logger ``fedflip.plan``.

    Args:
        fleet: A :class:`Fleet`, or anything that one can be made from.
        bandwidth_mbps: The bandwidth that the devices of a round share.
        scheme: How to choose q, such as ``"auto"``, ``"exact"`` or ``"fixed=0.2"``; :func:`schemes` lists all.
            By default ``"exact"`` where α and β or pilots are given without a variance, and otherwise ``"auto"``.
        alpha: α of the round model R(q) = α/(β − Σ a²/q).
        beta: β of the round model.
        pilots: Pilots in place of α and β: rounds to the same loss under baseline schemes, two or more.
            ``"500+:uniform"`` gave up after 500 rounds.
        variance: The sampling variance Σ a²/q of a round that ``auto`` plans for, by default 1.4. Lower values
            sample more devices per round.
        overhead_secs: Time that every round takes in addition, empty ones included.
        spectrum_mhz: The spectrum that devices share instead of a bandwidth: rates follow Shannon, and the fleet
            needs the column ``snr_db``.
        downlink: How devices get the model: ``"none"`` (at no cost), ``"broadcast"`` (once for all) or
            ``"unicast"`` (once for each).
        downlink_bandwidth_mbps: The bandwidth of downloads, by default ``bandwidth_mbps``.
        downlink_ratio: The size of a download divided by that of an upload: 8 for a model in f32 and updates in int4.
        step_secs: The step of the line search of ``paper-linesearch``: Algorithm 2 exactly as printed.
        seed: The seed of the Monte Carlo estimates. It is not the seed of the coins.
        draws: Cohorts drawn for the mean round time, by default as many as half a second allows.

    Raises:
        InputError: An argument is wrong, or the target cannot be reached. ``where`` names the argument.

    Examples:
        >>> import fedflip as ff
        >>> plan = ff.plan(ff.Fleet.paper(100, seed=7), bandwidth_mbps=100)
        >>> plan.scheme, len(plan.q)
        ('auto', 100)
        >>> round(plan.sampling_variance, 3)
        1.231
    """
    devices = as_fleet(fleet)
    costs = costs_of(
        bandwidth_mbps, spectrum_mhz, overhead_secs, downlink, downlink_bandwidth_mbps, downlink_ratio
    )
    goal = goal_of(alpha, beta, pilots, seed, draws)
    goal["scheme"] = text("scheme", scheme, optional=True)
    goal["variance"] = number("variance", variance, optional=True)
    goal["step_secs"] = number("step_secs", step_secs, optional=True)
    made = Plan._make(devices, costs, goal)
    for warning in made.warnings:
        _logger.warning(warning)
    return made
