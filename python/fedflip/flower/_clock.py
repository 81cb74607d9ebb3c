"""The clock of a CoinStrategy: virtual on a VirtualGrid, and otherwise the wall clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from fedflip._errors import InputError
from fedflip._fleet import Fleet
from fedflip._plan import Plan
from fedflip.flower._grid import VirtualGrid

__all__ = ["Clock"]

#: The keys of a scenario that a plan and a grid both decide, and their names as arguments. Without the key, a cost is 0.
_COSTS = {"fleet.bandwidth_mbps": "bandwidth_mbps", "round.overhead_secs": "overhead_secs"}
#: The columns of a fleet that decide how long rounds take.
_TIMES = ("compute_secs", "comm_secs", "link_mbps")


class Clock:
    """The time of a run.

    Args:
        grid: The grid of the run.
        plan: The plan of the strategy.

    Raises:
        InputError: The plan was made for other devices or costs than those of the VirtualGrid.
    """

    def __init__(self, grid: Grid, plan: Plan) -> None:
        self.virtual = grid if isinstance(grid, VirtualGrid) else None
        #: The plan for the devices of the clock, which the records describe.
        self.plan = plan if self.virtual is None else _plan_on(self.virtual, plan)
        self._offset_secs = -time.monotonic()
        self._start_secs = 0.0

    @property
    def now(self) -> float:
        """The seconds since the run began."""
        return self.virtual.now if self.virtual is not None else self._offset_secs + time.monotonic()

    @property
    def settings(self) -> dict[str, Any]:
        """What decides times and losses and is no key of a scenario. A run resumes with the same settings."""
        return {"clock": "wall"} if self.virtual is None else self.virtual._settings

    def resume(self, round: int, secs: float) -> None:
        """Continues after a round of an earlier process."""
        self._offset_secs += secs
        if self.virtual is not None:
            self.virtual._rounds.resume(round, secs)

    def begin_round(self, round: int) -> None:
        """The next push is this round."""
        self._start_secs = self.now
        if self.virtual is not None:
            self.virtual._rounds.announce(round, self.plan)

    def reasons(self, lost: dict[int, str]) -> dict[int, str]:
        """Why clients are lost; a virtual clock knows more than their replies say."""
        timed = self.virtual._rounds.last if self.virtual is not None else None
        return (
            lost
            if timed is None
            else {device: timed.lost.get(device, reason) for device, reason in lost.items()}
        )

    def record(
        self,
        round: int,
        cohort: list[int],
        took_secs: Mapping[int, float],
        lost: Mapping[int, str],
        loss: Any,
    ) -> dict[str, Any]:
        """The round that is over, as a line of records. On the wall clock, the bandwidth of a client is not known."""
        if self.virtual is not None and self.virtual._rounds.last is not None:
            timed = self.virtual._rounds.last
            return timed.record(loss, lost)
        round_secs = self.now - self._start_secs
        return {
            "round": round,
            "start_secs": self._start_secs,
            "round_secs": round_secs,
            "cohort": cohort,
            "mbps": [0.0] * len(cohort),
            "compute_secs": [
                min(max(took_secs.get(device, round_secs), 0.0), round_secs) for device in cohort
            ],
            "upload_secs": [0.0] * len(cohort),
            "lost": [{"device": device, "reason": lost[device]} for device in sorted(lost)],
            "train_loss": loss,
        }


def _plan_on(grid: VirtualGrid, plan: Plan) -> Plan:
    """The plan for the devices of a grid. Records of a plan for another clock would describe neither of them."""
    if len(plan) != len(grid.fleet):
        raise _refused(
            f"the plan has {len(plan)} devices, and the VirtualGrid has {len(grid.fleet)}",
            plan,
            "plan for the fleet of the grid",
        )
    _check_costs(grid, plan)
    difference = _difference(plan.fleet, grid.fleet)
    if not difference:
        return plan
    if all(_difference(plan.fleet, measured) for measured in grid._measured):
        raise _refused(
            f"the plan was made for other devices than those of the VirtualGrid: {difference}",
            plan,
            "plan for the fleet of the grid, or for one that was measured on it",
        )
    # A measured fleet has the times of one round; those of all rounds follow from the fleet of the grid.
    own = {"device": plan.fleet.names, "samples": plan.fleet.samples, "availability": plan.fleet.availability}
    costs: dict[str, Any] = {name: float(grid._keys.get(key, 0.0)) for key, name in _COSTS.items()}
    return Plan.from_q(Fleet({**grid.fleet.columns(), **own}), plan.q, **costs)


def _check_costs(grid: VirtualGrid, plan: Plan) -> None:
    """Refuses a plan for another bandwidth or overhead. A plan of probabilities alone may have none."""
    keys = dict(key.split("=", 1) for key in plan._native.shared_keys())
    if "fleet.spectrum_mhz" in keys:
        raise _refused(
            f"the plan shares a spectrum of {keys['fleet.spectrum_mhz']} MHz, and the VirtualGrid a bandwidth",
            plan,
            "plan with bandwidth_mbps",
        )
    mode, offered = plan._arguments[0]["downlink"], str(grid._keys.get("round.downlink", "none"))
    if plan.bandwidth_mbps is not None and mode != offered:
        raise _refused(
            f"the plan has downlink={mode!r}, and the VirtualGrid has downlink={offered!r}",
            plan,
            "give both the same downlink",
        )
    for key, name in _COSTS.items():
        planned, given = float(keys.get(key, "nan")), float(grid._keys.get(key, 0.0))
        if key in keys and planned != given:
            raise _refused(
                f"the plan has {name}={planned:g}, and the VirtualGrid has {name}={given:g}",
                plan,
                f"give both the same {name}",
            )


def _difference(planned: Fleet, other: Fleet) -> str:
    """The first time that differs between two fleets; empty if none does but by rounding."""
    for name in _TIMES:
        columns = [fleet.columns().get(name, np.full(len(fleet), np.inf)) for fleet in (planned, other)]
        if len(columns[0]) != len(columns[1]):
            return f"{len(columns[0])} and {len(columns[1])} devices"
        (places,) = np.nonzero(~np.isclose(columns[0], columns[1], rtol=1e-6, atol=1e-9))
        if len(places):
            device = int(places[0])
            one, two = (column[device] for column in columns)
            return f"device {device} has {name} {one:g} in the plan, and {two:g} on the grid"
    return ""


def _refused(problem: str, plan: Plan, remedy: str) -> InputError:
    return InputError(problem, where="plan", value=plan, remedy=remedy)
