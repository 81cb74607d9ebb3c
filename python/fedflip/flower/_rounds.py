"""Rounds on the virtual clock: the messages of one push, timed, handed to clients and recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedflip import _fedflip

__all__ = ["TimedRound", "timed_round", "waves"]

#: Evaluations have random numbers of their own: their rounds are counted from here.
EVALUATIONS_FROM = 1 << 62


@dataclass(frozen=True)
class TimedRound:
    """A round on the virtual clock. Columns are in the order of the cohort, which is that of the devices.

    Attributes:
        round: The round, counted from 1.
        start_secs: The virtual time at its start.
        round_secs: How long the round took.
        download_secs: The part of it until all devices had the model.
        cohort: The devices that got a message.
        mbps: Their shares of the bandwidth.
        compute_secs: The time until each began to upload.
        upload_secs: How long each uploaded.
        lost: The devices that did not report, each with the reason.
    """

    round: int
    start_secs: float
    round_secs: float
    download_secs: float
    cohort: list[int]
    mbps: list[float]
    compute_secs: list[float]
    upload_secs: list[float]
    lost: dict[int, str] = field(default_factory=dict)

    def record(self, train_loss: float | None, failed: Mapping[int, str] | None = None) -> dict[str, Any]:
        """The round as a line of records."""
        lost = {**(failed or {}), **self.lost}
        return {
            "round": self.round,
            "start_secs": self.start_secs,
            "round_secs": self.round_secs,
            "download_secs": self.download_secs,
            "cohort": self.cohort,
            "mbps": self.mbps,
            "compute_secs": self.compute_secs,
            "upload_secs": self.upload_secs,
            "lost": [{"device": device, "reason": lost[device]} for device in sorted(lost)],
            "train_loss": train_loss,
        }


def timed_round(
    clock: _fedflip.VirtualClock,
    round: int,
    cohort: list[int],
    *,
    payload_mbit: list[float] | None,
    compute_factor: float = 1.0,
    deadline_secs: float | None = None,
) -> TimedRound:
    """Times a round, and moves the clock to its end."""
    timed = clock.round(round, cohort, payload_mbit, compute_factor, deadline_secs)
    return TimedRound(
        round=round,
        start_secs=timed["start_secs"],
        round_secs=timed["round_secs"],
        download_secs=timed["download_secs"],
        cohort=cohort,
        mbps=timed["mbps"].tolist(),
        compute_secs=timed["compute_secs"].tolist(),
        upload_secs=timed["upload_secs"].tolist(),
        lost=dict(timed["lost"]),
    )


def waves(places: Sequence[tuple[int, Any]]) -> list[list[tuple[int, Any]]]:
    """Pairs of device and message in rounds: a device does the second of its messages after everybody's first."""
    rounds: list[dict[int, Any]] = []
    for device, message in places:
        wave = next((wave for wave in rounds if device not in wave), None)
        if wave is None:
            wave = {}
            rounds.append(wave)
        wave[device] = message
    return [sorted(wave.items()) for wave in rounds]
