"""The sum of a round, and the replies that cannot be part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedflip._errors import InputError
from fedflip._plan import Plan
from fedflip.flower._model import Arrays, DivergedUpdateError, WeightedSum, arrays_of
from fedflip.flower._replies import Reports

__all__ = ["NOT_FINITE", "REFUSED", "Refusals", "Refused", "reason_of", "summed"]

Refused = dict[int, InputError | DivergedUpdateError]

#: Why clients are lost whose replies cannot be used.
REFUSED, NOT_FINITE = "refused", "not_finite"
#: After this number of rounds in a row whose replies all hold NaN or infinite numbers, the model has diverged.
_NAN_ROUNDS = 3


def summed(plan: Plan, model: Arrays, reports: Reports, round: int) -> tuple[WeightedSum, Refused]:
    """Adds up the replies that can be used, and says what is wrong with the others."""
    total, refused = WeightedSum(model), Refused()
    for device, content in reports.by_device:
        whose = f"client {device} ({plan.fleet.names[device]}) in round {round}"
        try:
            arrays = arrays_of(reports.arrays(content, whose), whose)
            total.add(float(plan.weights[device]), arrays, whose)
        except (InputError, DivergedUpdateError) as error:
            refused[device] = error
    return total, refused


def reason_of(problem: Exception) -> str:
    """Why a client whose reply is refused is lost, as records say it."""
    return NOT_FINITE if isinstance(problem, DivergedUpdateError) else REFUSED


class Refusals:
    """What refused replies mean for the run: one client does not end it, and a mistake of the app does."""

    def __init__(self) -> None:
        self._has_added = False
        self._nan_rounds = 0

    def resume(self, record: Mapping[str, Any]) -> None:
        """Sees a round that an earlier process has recorded."""
        reasons = [each["reason"] for each in record.get("lost", ())]
        refused = [reason for reason in reasons if reason in (REFUSED, NOT_FINITE)]
        self._count(len(record["cohort"]) > len(reasons), [reason == NOT_FINITE for reason in refused])

    def see(self, total: WeightedSum, refused: Refused) -> None:
        """Sees the replies of a round.

        Raises:
            InputError: No reply of the run could be used yet, so the app is wrong and not a client.
            DivergedUpdateError: All replies hold NaN: those of the first round, several ones, or those of several rounds.
        """
        are_nan = [isinstance(error, DivergedUpdateError) for error in refused.values()]
        self._count(total.added > 0, are_nan)
        if total.added or not refused:
            return
        if not self._has_added or (all(are_nan) and (len(refused) > 1 or self._nan_rounds >= _NAN_ROUNDS)):
            raise next(iter(refused.values()))

    def _count(self, has_added: bool, are_nan: list[bool]) -> None:
        if has_added:
            self._has_added, self._nan_rounds = True, 0
        elif are_nan:
            self._nan_rounds = self._nan_rounds + 1 if all(are_nan) else 0
