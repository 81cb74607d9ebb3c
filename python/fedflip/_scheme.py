"""Sampling schemes of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedflip import _fedflip
from fedflip._arguments import flag, function, text
from fedflip._errors import InputError
from fedflip._plan_arguments import probabilities

if TYPE_CHECKING:
    from fedflip._fleet import Fleet

__all__ = ["Scheme"]


class Scheme:
    """A sampling scheme of your own: a callable that returns the cohort of a round and its aggregation weights.

    The server adds weight times update over the cohort to the model. The sum is unbiased if the expected weight of every
    device is its share of the data, as with weights a/q for independent coins.

    ``draw`` is a function of its arguments: the same round, seed and fleet give the same cohort, so that a run can be
    resumed and repeated. Take random numbers from ``numpy.random.default_rng([seed, round])``. An object that learns from
    earlier rounds also has ``observe(round, devices, train_losses, alone_secs)``, which is called after each round, and
    ``begin()``, which forgets everything; a resumed run calls ``observe`` for the rounds before.

    Args:
        draw: ``draw(round, seed, fleet)`` returns the positions of devices, each once, and one weight for each.
        name: The name in records and reports; by default that of the callable.
        q: The probability of each device to be in a cohort, for reports; by default the share of the devices that the
            first 20 cohorts have on average.
        unbiased: Whether you vouch that the sum is unbiased; reports say so.

    Examples:
        >>> import numpy as np
        >>> def every_third(round, seed, fleet):
        ...     cohort = np.arange(round % 3, len(fleet), 3)
        ...     return cohort, fleet.data_shares[cohort] * 3
        >>> Scheme(every_third, unbiased=True)
        Scheme('every_third')
    """

    def __init__(
        self,
        draw: Callable[[int, int, Fleet], tuple[ArrayLike, ArrayLike]],
        *,
        name: str | None = None,
        q: ArrayLike | None = None,
        unbiased: bool = False,
    ) -> None:
        remedy = "give a function of round, seed and fleet that returns a cohort and its weights"
        self._draw = function("draw", draw, remedy=remedy)
        own_name = str(getattr(draw, "__name__", type(draw).__name__)).strip("<>")
        self.name: str = text("name", name, optional=True) or own_name
        self._q = None if q is None else np.array(probabilities(q))
        if self._q is not None:
            wrong = np.flatnonzero(~((self._q > 0) & (self._q <= 1)))
            if wrong.size:
                at = int(wrong[0])
                raise InputError(
                    f"q[{at}] is {self._q.flat[at]}; it must be above 0 and at most 1",
                    where=f"q[{at}]",
                    value=float(self._q.flat[at]),
                    remedy="leave q out if you do not know it; a device that is never drawn gets a small q",
                )
        self.unbiased = flag("unbiased", unbiased)
        self.observes = hasattr(draw, "observe")
        # The native part holds a twin that does not know it: nothing could free a cycle through the native part.
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        self._native = _fedflip.CustomScheme(self.name, twin)

    def __repr__(self) -> str:
        return f"Scheme({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._draw, self.name, self._q, self.unbiased))

    def q(self, fleet: Fleet) -> NDArray[np.float64]:
        """The probability of each device to be in a cohort, as far as it is known."""
        if self._q is not None:
            if self._q.shape != (len(fleet),):
                raise InputError(
                    f"q of the scheme {self.name} has the shape {self._q.shape}, but the fleet has {len(fleet)} devices",
                    where="q",
                    value=self._q.shape,
                    remedy="give one probability for each device",
                )
            return self._q
        self.begin()
        sizes = [len(self.draw(round, 1, fleet)[0]) for round in range(1, 21)]
        self.begin()
        share = min(1.0, max(float(np.mean(sizes)) / len(fleet), 1e-9))
        q: NDArray[np.float64] = np.minimum(share, fleet.availability)
        return q

    def begin(self) -> None:
        """Forgets what earlier runs reported."""
        begin = getattr(self._draw, "begin", None)
        if begin is not None:
            begin()

    def observe(self, round: int, devices: Any, train_losses: Any, alone_secs: Any) -> None:
        """Passes the reports of a round on."""
        draw: Any = self._draw
        draw.observe(round, devices, train_losses, alone_secs)

    def draw(self, round: int, seed: int, fleet: Fleet) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The cohort of a round in ascending order, and its weights, checked."""
        answer = self._draw(round, seed, fleet)
        place = f"round {round} of the scheme {self.name}"
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InputError(
                f"{place}: draw returned {answer!r}, but it must return a tuple of cohort and weights",
                where="draw",
                value=answer,
                remedy="return cohort, weights",
            )
        try:
            cohort, weights = np.asarray(answer[0]), np.asarray(answer[1], dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{place}: draw returned no arrays of numbers: {error}",
                where="draw",
                value=answer,
                remedy="return whole positions of devices and one weight for each",
            ) from None
        if cohort.size == 0:
            cohort = cohort.astype(np.int64)
        if cohort.dtype.kind not in "iu" or cohort.ndim != 1 or weights.shape != cohort.shape:
            raise InputError(
                f"{place}: the cohort has the shape {cohort.shape} and the dtype {cohort.dtype}, and the weights have the "
                f"shape {weights.shape}",
                where="draw",
                value=(cohort.shape, str(cohort.dtype), weights.shape),
                remedy="return whole positions of devices and one weight for each",
            )
        order = np.argsort(cohort, kind="stable")
        cohort, weights = cohort[order].astype(np.int64), np.ascontiguousarray(weights[order])
        outside = cohort[(cohort < 0) | (cohort >= len(fleet))]
        twice = cohort[1:][cohort[1:] == cohort[:-1]]
        for wrong, problem in [
            (outside, f"is outside the fleet of {len(fleet)} devices"),
            (twice, "occurs twice"),
        ]:
            if wrong.size:
                raise InputError(
                    f"{place}: device {wrong[0]} {problem}",
                    where="draw",
                    value=int(wrong[0]),
                    remedy="return positions from 0 on, each once; add the weights of a device that is drawn twice",
                )
        if not np.isfinite(weights).all():
            bad = int(np.flatnonzero(~np.isfinite(weights))[0])
            raise InputError(
                f"{place}: the weight of device {cohort[bad]} is {weights[bad]}",
                where="draw",
                value=float(weights[bad]),
                remedy="return finite weights",
            )
        return np.ascontiguousarray(cohort), weights


def _restored(draw: Any, name: str, q: Any, unbiased: bool) -> Scheme:
    """Makes a scheme again in another process."""
    return Scheme(draw, name=name, q=q, unbiased=unbiased)
