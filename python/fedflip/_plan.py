"""Plans: the participation probability of each device, and the weight of its updates."""

from __future__ import annotations

import os
from typing import Any, final

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._arguments import count, flag, path_text
from fedflip._fleet import Fleet, as_fleet
from fedflip._plan_arguments import Pilots, costs_of, goal_of, probabilities
from fedflip._plan_compare import PlanComparison
from fedflip._plan_html import html_paragraph, html_table

__all__ = ["Plan"]


@final
class Plan:
    """Participation probabilities q, and the weights a/q that make their aggregation unbiased.

    :func:`plan` makes a plan by a scheme, and :meth:`from_q` from probabilities of your own. Both arrays are views of
    one immutable object, so they cannot disagree.

    Examples:
        >>> import numpy as np
        >>> import fedflip as ff
        >>> plan = ff.plan(ff.Fleet.paper(100, seed=7), bandwidth_mbps=100, scheme="fixed=0.2")
        >>> bool(np.all(plan.weights == plan.fleet.data_shares / plan.q))
        True
        >>> plan.sample(round=1, seed=7)[:3]
        array([15, 17, 29])
    """

    __slots__ = ("_arguments", "_fleet", "_native")

    _arguments: tuple[dict[str, Any], dict[str, Any]]
    _fleet: Fleet
    _native: _fedflip.Plan

    def __init__(self) -> None:
        raise TypeError("make a plan with fedflip.plan(fleet, …) or fedflip.Plan.from_q(fleet, q)")

    @classmethod
    def _of(cls, native: _fedflip.Plan, fleet: Fleet, costs: dict[str, Any], goal: dict[str, Any]) -> Plan:
        made = object.__new__(cls)
        object.__setattr__(made, "_native", native)
        object.__setattr__(made, "_fleet", fleet)
        object.__setattr__(made, "_arguments", (costs, goal))
        return made

    @classmethod
    def _make(cls, fleet: Fleet, costs: dict[str, Any], goal: dict[str, Any]) -> Plan:
        return cls._of(_fedflip.Plan.make(fleet._native, costs, goal), fleet, costs, goal)

    @classmethod
    def from_q(
        cls,
        fleet: Any,
        q: npt.ArrayLike,
        *,
        bandwidth_mbps: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        pilots: Pilots | None = None,
        overhead_secs: float = 0.0,
        spectrum_mhz: float | None = None,
        downlink: str = "none",
        downlink_bandwidth_mbps: float | None = None,
        downlink_ratio: float = 1.0,
        seed: int = 0,
        draws: int | None = None,
    ) -> Plan:
        """Makes the plan with probabilities of your own, one per device, each from 0 to the device's availability.

        A device with q = 0 is not part of the plan, and the data are then those of the other devices. Round times
        need a bandwidth; the other arguments are those of :func:`plan`.

        Examples:
            >>> import fedflip as ff
            >>> fleet = ff.Fleet({"compute_secs": [2.0, 0.4], "comm_secs": [7.0, 7.0], "samples": [300, 100]})
            >>> ff.Plan.from_q(fleet, [0.5, 0.25]).weights
            array([1.5, 1. ])
        """
        devices = as_fleet(fleet)
        costs = costs_of(
            bandwidth_mbps, spectrum_mhz, overhead_secs, downlink, downlink_bandwidth_mbps, downlink_ratio
        )
        return cls._given(devices, probabilities(q), costs, goal_of(alpha, beta, pilots, seed, draws))

    @classmethod
    def _given(
        cls, fleet: Fleet, q: npt.NDArray[np.float64], costs: dict[str, Any], goal: dict[str, Any]
    ) -> Plan:
        return cls._of(_fedflip.Plan.from_q(fleet._native, q, costs, goal), fleet, costs, goal)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a plan is immutable: make another one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan is immutable: {name} stays")

    def __eq__(self, other: object) -> bool:
        return self._native == other._native if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.scheme, len(self), self.expected_participants))

    def __len__(self) -> int:
        return len(self._fleet)

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        costs, goal = self._arguments
        given = np.array(self.q) if self.scheme == "given" else None
        return (_restored, (self._fleet, given, costs, {**goal, "given_rows": self._native.given_rows()}))

    @property
    def fleet(self) -> Fleet:
        """The fleet that the plan is for."""
        return self._fleet

    @property
    def q(self) -> npt.NDArray[np.float64]:
        """The participation probability of each device, as a read-only view."""
        return np.asarray(self._native.q())

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """a/q of each device, as a read-only view: the factor that multiplies its update."""
        return np.asarray(self._native.weights())

    @property
    def scheme(self) -> str:
        """The name of the scheme; ``"given"`` for probabilities of your own."""
        return self._native.scheme

    @property
    def status(self) -> str:
        """How good the plan is: ``optimal``, ``local-optimum``, ``approximate``, ``given`` or ``unreachable``."""
        return self._native.status

    @property
    def bandwidth_mbps(self) -> float | None:
        """The bandwidth that devices share; None if it is unknown, or if they share spectrum."""
        return self._native.bandwidth_mbps

    @property
    def spectrum_mhz(self) -> float | None:
        """The spectrum that devices share; None if they share a bandwidth."""
        return self._native.spectrum_mhz

    @property
    def alpha(self) -> float | None:
        """α of the round model, given or estimated from pilots; None if it is unknown."""
        constants = self._native.constants
        return None if constants is None else constants[0]

    @property
    def beta(self) -> float | None:
        """β of the round model, given or estimated from pilots; None if it is unknown."""
        constants = self._native.constants
        return None if constants is None else constants[1]

    @property
    def sampling_variance(self) -> float:
        """The sampling variance C(q) = Σ a²/q of a round."""
        return self._native.sampling_variance

    @property
    def expected_participants(self) -> float:
        """Σ q: the mean size of a cohort."""
        return self._native.expected_participants

    @property
    def rounds(self) -> float | None:
        """R(q) = α/(β − C(q)); None if α and β are unknown, the target is out of reach, or no coins are flipped."""
        return self._native.rounds

    @property
    def round_secs(self) -> float | None:
        """The mean length of a round, computed when first asked for.

        None where cohorts depend on what devices report, and for a plan from q without a bandwidth.
        """
        estimate = self._native.round_secs()
        return None if estimate is None else estimate[0]

    @property
    def round_secs_error(self) -> float | None:
        """The standard error of :attr:`round_secs`."""
        estimate = self._native.round_secs()
        return None if estimate is None else estimate[1]

    @property
    def total_secs(self) -> float | None:
        """The predicted time to the target, rounds × mean round; None where either is unknown."""
        return self._native.total_secs()

    @property
    def optimality_gap(self) -> float | None:
        """The proven largest distance of the plan's objective from the optimum, as a share; None if unknown."""
        return self._native.optimality_gap()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the plan is used."""
        return tuple(self._native.warnings())

    def sample(self, *, round: int, seed: int) -> npt.NDArray[np.int64]:
        """The positions of the devices that take part in a round: the coins of a run with this seed.

        Args:
            round: The round, counted from 1.
            seed: The seed of the run.

        Raises:
            InputError: The scheme chooses devices by what they report in a run.
        """
        return self._native.sample(count("round", round, least=1), count("seed", seed))

    def explain(self, *, devices: bool = False) -> str:
        """The plan in words and tables, as ``fedflip plan`` prints it.

        Args:
            devices: Whether to list every device of a large fleet.
        """
        return self._native.explain(self._fleet._source, flag("devices", devices)).rstrip("\n")

    def compare(self) -> PlanComparison:
        """Plans by every scheme for the same fleet and costs, as ``fedflip plan --compare`` does."""
        return PlanComparison(self._native.compare(self._fleet._source))

    def to_dict(self) -> dict[str, Any]:
        """All numbers of the plan, as ``fedflip plan --json`` prints them."""
        import json

        return dict(json.loads(self._native.json()))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes name, q and a/q of each device, which ``scheme="file=PATH"`` reads back."""
        self._native.to_csv(path_text("path", path))

    def __repr__(self) -> str:
        band = "" if self.bandwidth_mbps is None else f" at {self.bandwidth_mbps:g} Mbit/s"
        band = band if self.spectrum_mhz is None else f" at {self.spectrum_mhz:g} MHz"
        devices = "1 device" if len(self) == 1 else f"{len(self)} devices"
        rounds = "" if self.rounds is None else f", {self.rounds:.4g} rounds"
        size = f"{self.expected_participants:.3g} per round"
        return f"Plan({self.scheme}: {devices}{band}, {size}, Σ a²/q = {self.sampling_variance:.4g}{rounds})"

    def _repr_html_(self) -> str:
        if self.bandwidth_mbps is None and self.spectrum_mhz is None:
            return html_paragraph(repr(self))
        title, settings, columns, rows, more, outcome, reasons = self._native.explanation(
            self._fleet._source, False
        )
        parts = [html_paragraph(title)]
        parts += [html_paragraph(*lines, label=label) for label, lines in settings]
        parts.append(html_table(columns, rows, note=more or ""))
        parts += [html_paragraph(*lines, label=label) for label, lines in outcome]
        parts.append(html_paragraph(*reasons, label="why"))
        return "".join(parts)


def _restored(
    fleet: Fleet, given: npt.NDArray[np.float64] | None, costs: dict[str, Any], goal: dict[str, Any]
) -> Plan:
    """Makes a plan again in another process: equal arguments give equal plans, to the bit."""
    return Plan._make(fleet, costs, goal) if given is None else Plan._given(fleet, given, costs, goal)
