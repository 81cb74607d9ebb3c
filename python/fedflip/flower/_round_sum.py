"""The sum of a round, and the replies that cannot be part of it."""

from __future__ import annotations

from fedflip._errors import InputError
from fedflip._plan import Plan
from fedflip.flower._model import Arrays, DivergedUpdateError, WeightedSum, arrays_of
from fedflip.flower._replies import Reports

__all__ = ["Refusals", "Refused", "summed"]

Refused = dict[int, InputError | DivergedUpdateError]

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


class Refusals:
    """What refused replies mean for the run: one client does not end it, and a mistake of the app does."""

    def __init__(self) -> None:
        self._has_added = False
        self._nan_rounds = 0

    def see(self, total: WeightedSum, refused: Refused) -> None:
        """Sees the replies of a round.

        Raises:
            InputError: No reply of the run could be used yet, so the app is wrong and not a client.
            DivergedUpdateError: All replies hold NaN: those of the first round, several ones, or those of several rounds.
        """
        if total.added:
            self._has_added, self._nan_rounds = True, 0
        if total.added or not refused:
            return
        are_nan = all(isinstance(error, DivergedUpdateError) for error in refused.values())
        self._nan_rounds = self._nan_rounds + 1 if are_nan else 0
        if not self._has_added or (are_nan and (len(refused) > 1 or self._nan_rounds >= _NAN_ROUNDS)):
            raise next(iter(refused.values()))
