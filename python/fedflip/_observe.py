"""Whoever watches runs: progress bars, callbacks and the log."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from fedflip._arguments import function, listed

__all__ = ["Callback", "RoundRecord", "Watch", "checked_callbacks"]

log = logging.getLogger("fedflip")


class RoundRecord(SimpleNamespace):
    """The record of one round: what ``records.jsonl`` has, as attributes.

    Attributes:
        round: The number of the round, counted from 1.
        start_secs: The virtual time at the start of the round.
        round_secs: The length of the round.
        secs: The virtual time at the end of the round.
        cohort: The positions of the devices of the round.
        mbps: The share of the bandwidth of each of them.
        train_loss: The mean loss of the local training; None in a round without updates.
        metrics: The evaluation, a dict; empty if the round was not evaluated.
    """

    metrics: dict[str, float]

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__(**{"metrics": {}, **record})

    @property
    def secs(self) -> float:
        """The virtual time at the end of the round."""
        return float(self.start_secs + self.round_secs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (RoundRecord, (dict(self.__dict__),))


#: A callback gets the record of each round. A callback that returns True ends the run, which can be resumed.
Callback = Callable[[RoundRecord], Any]


def checked_callbacks(callbacks: Any) -> list[Callback]:
    """The argument ``callbacks``, if it is a list of functions."""

    def checked(where: str, callback: Any) -> Any:
        return function(where, callback, remedy="give functions that take the record of a round")

    return listed(
        "callbacks", callbacks, "a list of functions", each=checked, remedy="write callbacks=[function]"
    )


class Watch:
    """What the native code calls: it turns JSON into records, and shows progress."""

    def __init__(self, callbacks: Iterable[Callback], progress: bool) -> None:
        self.callbacks = list(callbacks)
        self.sees_all = bool(self.callbacks)
        self._bar: Any = _bar() if progress else None
        self._metric: str | None = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def begin(self, title: str, header: str) -> None:
        """A run begins or is resumed."""
        log.info("%s begins", title)
        head = json.loads(header)
        self._metric = (head.get("stop") or {}).get("metric")
        if self._bar is not None:
            self._bar.set_description_str(title)
            self._bar.n = 0
            self._bar.refresh()

    def initial(self, record: str) -> None:
        """The first model was evaluated."""

    def round(self, text: str) -> bool:
        """One more round. True ends the run."""
        record = RoundRecord(json.loads(text))
        if self._bar is not None:
            self._bar.n = record.round
            if self._metric in record.metrics:
                self._bar.set_postfix_str(f"{self._metric} {record.metrics[self._metric]:.4g}", refresh=False)
            self._bar.refresh()
        # Every callback sees the round, also if one before it ends the run.
        return any([_is_true(callback(record)) for callback in self.callbacks])

    def end(self, text: str) -> None:
        """The run is over; no text if it was interrupted."""
        end = json.loads(text) if text else None
        log.info("the run ended: %s", end["reason"]) if end else log.info("the run was interrupted")

    def working(self, what: str) -> None:
        """Something that takes a while begins; an empty text ends it."""
        if what:
            log.info("%s", what)
        if self._bar is not None and what:
            self._bar.set_description_str(what)

    def warn(self, text: str) -> None:
        """A warning for the user."""
        log.warning("%s", text)

    def close(self) -> None:
        """Removes the progress bar."""
        if self._bar is not None:
            self._bar.close()


def _is_true(answer: Any) -> bool:
    """Whether a callback says True, as Python or numpy has it; other answers mean nothing."""
    return type(answer).__name__ in ("bool", "bool_") and bool(answer)


def _bar() -> Any:
    """A progress bar, if tqdm is installed and somebody can see it."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stderr.isatty():
        return None
    return tqdm(unit=" rounds", leave=False)
