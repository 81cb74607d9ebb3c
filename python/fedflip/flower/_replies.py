"""The replies of a round: who sent what, who is lost, and the means of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from logging import WARNING
from typing import Any

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy.strategy_utils import aggregate_metricrecords

from fedflip._errors import InputError
from fedflip.flower._flwr import CLIENT_APP_CRASHED, ErrorCode, flower_log
from fedflip.flower._messages import added, mean_metrics

__all__ = ["Aggregate", "Reports", "aggregated", "record_metrics"]

Aggregate = Callable[[list[RecordDict], str], MetricRecord]

_OF_THE_APP = (
    ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
    ErrorCode.LOAD_CLIENT_APP_EXCEPTION,
    CLIENT_APP_CRASHED,
)


class Reports:
    """Replies in the order of the devices, whatever the order in which they came.

    Args:
        replies: The replies of a round.
        device_of: The device of each node.
        asked: The devices that got a message; None if all did. Replies of others, which may be late, are left out.
    """

    def __init__(
        self, replies: Iterable[Message], device_of: Mapping[int, int], asked: Container[int] | None = None
    ) -> None:
        good: dict[int, Message] = {}
        #: Devices with an error in the place of a content.
        self.failed: dict[int, str] = {}
        self._unreachable = False
        for reply in replies:
            node = reply.metadata.src_node_id
            device = device_of.get(node)
            if device is None and reply.has_error():
                # A SuperLink answers for a node that it cannot reach, and does not say for which.
                self._unreachable = True
                flower_log(WARNING, "There is an error in the place of a reply: %s", reply.error.reason)
                continue
            if device is None:
                raise InputError(
                    f"there is a reply from node {node}, which is not in the plan",
                    where="replies",
                    value=node,
                    remedy="send messages of this strategy to its own clients only",
                )
            if (asked is not None and device not in asked) or device in good:
                what = "a second reply" if device in good else "a reply, and was not asked"
                flower_log(WARNING, "The client of device %d sent %s: it does not count", device, what)
            elif reply.has_error():
                self.failed[device] = "failed" if reply.error.code in _OF_THE_APP else "unavailable"
                flower_log(
                    WARNING, "The client of device %d replied with an error: %s", device, reply.error.reason
                )
            else:
                good[device] = reply
        self.by_device = [(device, good[device].content) for device in sorted(good)]
        self.contents = [content for _, content in self.by_device]
        #: When each reply was made, by the clock of its client.
        self.created_at = {device: float(reply.metadata.created_at) for device, reply in good.items()}

    def refuse(self, device: int, reason: str, problem: Exception) -> None:
        """Takes out a reply that cannot be used: its client is lost."""
        flower_log(WARNING, "The reply of a client is refused: %s", problem)
        self.failed[device] = reason
        self.by_device = [(other, content) for other, content in self.by_device if other != device]
        self.contents = [content for _, content in self.by_device]

    def lost(self, cohort: list[int], node_of: Mapping[int, int]) -> dict[int, str]:
        """The devices that were drawn and have not reported, each with the reason."""
        reported = {device for device, _ in self.by_device}
        silent = "unavailable" if self._unreachable else "timeout"
        return {
            device: self.failed.get(device, silent if device in node_of else "offline")
            for device in cohort
            if device not in reported
        }

    @staticmethod
    def arrays(content: RecordDict, whose: str) -> ArrayRecord:
        """The only arrays of a reply."""
        records = list(content.array_records.values())
        if len(records) != 1:
            raise InputError(
                f"{whose} replied with {len(records)} ArrayRecords, and should reply with one",
                where="arrays",
                value=len(records),
                remedy="reply with the trained model as one ArrayRecord",
            )
        return records[0]


def aggregated(
    function: Aggregate | None, contents: list[RecordDict], weighted_by: str
) -> MetricRecord | None:
    """The metrics of all replies in one record: by a function of the user, or as ``FedAvg`` does it."""
    if not contents:
        return None
    if function is not None:
        return function(contents, weighted_by)
    if _is_regular(contents, weighted_by):
        return aggregate_metricrecords(contents, weighted_by)
    means = mean_metrics(contents, weighted_by)
    return MetricRecord(dict(means)) if means else None


def _is_regular(contents: list[RecordDict], weighted_by: str) -> bool:
    """Whether Flower's own function can average the metrics: one record each, of one shape, with weights above 0."""
    records = [list(content.metric_records.values()) for content in contents]
    if any(len(of_one) != 1 for of_one in records):
        return False
    shapes = [
        {name: len(value) if isinstance(value, list) else -1 for name, value in record.items()}
        for (record,) in records
    ]
    if any(shape != shapes[0] for shape in shapes) or shapes[0].get(weighted_by) != -1:
        return False
    weights: list[Any] = [record[weighted_by] for (record,) in records]
    return min(weights) >= 0 and 0 < added(weights) < math.inf


def record_metrics(metrics: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The numbers of a metric record, as records of a run have them."""
    numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    return {f"{prefix}{name}": float(value) for name, value in numbers.items() if math.isfinite(value)}
