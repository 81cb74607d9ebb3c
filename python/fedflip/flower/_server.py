"""The model on the server of a CoinStrategy: sums become steps, and everything can be kept and restored."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedflip import _fedflip
from fedflip._errors import FedflipError
from fedflip.flower._model import Arrays, DivergedUpdateError, Layout, WeightedSum, moved
from fedflip.flower._settings import native_scenario

__all__ = ["ServerModel"]

Vector = npt.NDArray[np.float32]


class ServerModel:
    """The arrays of the model, and the vectors of the server's optimiser.

    Args:
        plan: The plan of the strategy.
        keys: The keys of ``[server]``.
        arrays: The first model.
    """

    def __init__(self, plan: Any, keys: Mapping[str, Any], arrays: Arrays) -> None:
        self.arrays = arrays
        self.layout = Layout(arrays)
        self.first = self.layout.flat(arrays)
        scenario = native_scenario(plan.fleet, keys)
        self._optimiser = _fedflip.ServerOptimiser(scenario, self.first)
        self._final: Arrays | None = None

    def advance(self, round: int, total: WeightedSum) -> bool:
        """Takes the step of a round, and says whether the model changed.

        Raises:
            DivergedUpdateError: A number became NaN or infinite. The model is as before.
        """
        if self._optimiser.is_plain:
            if total.added == 0:
                return False
            after = moved(self.arrays, total.step)
        else:
            after = self._optimised(round, total)
        for name, array in after.items():
            if not np.all(np.isfinite(array)):
                raise DivergedUpdateError(
                    f"the array {name!r} of the model became NaN or infinite in round {round}"
                )
        self.arrays = after
        return True

    def _optimised(self, round: int, total: WeightedSum) -> Arrays:
        step = self.layout.flat(total.step) if total.added else None
        numbers = self._optimiser.advance(round, self.layout.flat(self.arrays), step)
        if numbers is None:
            raise DivergedUpdateError(f"the model became NaN or infinite in round {round}")
        after = self.layout.unflat(numbers, self.arrays)
        # Counters and the like have no moments: they change as without an optimiser.
        whole = {name: array for name, array in self.arrays.items() if array.dtype.kind not in "fc"}
        return after | (moved(whole, total.step) if total.added else whole)

    @property
    def result(self) -> Arrays:
        """The model to evaluate and to keep: the average of models where there is one."""
        if self._final is not None:
            return self._final
        average = self._optimiser.average()
        return self.arrays if average is None else self.layout.unflat(average, self.arrays)

    @property
    def vectors(self) -> list[Vector]:
        """What a checkpoint holds."""
        return [self.layout.flat(self.arrays), *self._optimiser.vectors()]

    def files(self, round: int) -> dict[str, bytes]:
        """What a checkpoint needs besides, where single precision does not hold the model to the bit."""
        if self.layout.is_exact:
            return {}
        content = io.BytesIO()
        named: dict[str, Any] = {f"{place}": array for place, array in enumerate(self.arrays.values())}
        np.savez(content, **named)
        return {_file(round): content.getvalue()}

    def restore(self, folder: Path, round: int, vectors: list[Vector]) -> None:
        """Continues from a checkpoint. Before the first round, the model is the one that the strategy started with."""
        self._optimiser.restore(vectors[1:])
        if round == 0:
            return
        if self.layout.is_exact:
            self.arrays = self.layout.unflat(vectors[0], self.arrays)
            return
        self.arrays = self._read(folder, round)

    def finish(self, folder: Path, rounds: int, model: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Takes the result of a run that has ended."""
        if self.layout.is_exact or self._optimiser.average() is not None:
            self._final = self.layout.unflat(self.layout.flat(model), self.arrays)
        else:
            self._final = self._read(folder, rounds)
        self.arrays = self._final

    def _read(self, folder: Path, round: int) -> Arrays:
        try:
            with np.load(folder / _file(round), allow_pickle=False) as kept:
                arrays = [kept[f"{place}"] for place in range(len(self.arrays))]
        except (OSError, ValueError, KeyError) as error:
            raise FedflipError(
                f"{folder / _file(round)} cannot be read: {error}",
                remedy="restore the folder from a copy, or run again in another folder",
            ) from error
        return dict(zip(self.arrays, arrays, strict=True))


def _file(round: int) -> str:
    return f"arrays-{round}.npz"
