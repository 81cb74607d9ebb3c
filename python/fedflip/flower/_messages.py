"""Messages: copies that clients may change, their sizes, and the metrics in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

__all__ = ["EVALUATE", "QUERY", "TRAIN", "category", "copied", "copied_context", "copied_message", "mbit"]
__all__ += ["added", "mean_metrics", "samples_told", "train_loss"]

TRAIN, EVALUATE, QUERY = "train", "evaluate", "query"


def category(message: Message) -> str:
    """What a message asks for: ``train`` and ``evaluate`` with any action, and ``query`` for everything else."""
    kind = str(message.metadata.message_type).partition(".")[0]
    return kind if kind in (TRAIN, EVALUATE) else QUERY


def copied(content: RecordDict) -> RecordDict:
    """A copy whose records belong to somebody else. The bytes of arrays are shared, since nobody can change bytes."""
    copy = RecordDict()
    for name, record in content.items():
        if isinstance(record, ArrayRecord):
            copy[name] = ArrayRecord(dict(record))
        else:
            kind: Any = MetricRecord if isinstance(record, MetricRecord) else ConfigRecord
            values = {key: list(value) if isinstance(value, list) else value for key, value in record.items()}
            copy[name] = kind(values)
    return copy


def copied_message(message: Message) -> Message:
    """A message with the same metadata, whose content belongs to the client."""
    copy = Message.__new__(Message)
    copy.__dict__.update(message.__dict__)
    metadata = object.__new__(type(message.metadata))
    metadata.__dict__.update(message.metadata.__dict__)
    copy.__dict__["_metadata"] = metadata
    if message.has_content():
        copy.__dict__["_content"] = copied(message.content)
    return copy


def copied_context(context: Context) -> Context:
    """A context that a client may change; what a client that fails has changed is forgotten."""
    return Context(
        run_id=context.run_id,
        node_id=context.node_id,
        node_config=dict(context.node_config),
        state=copied(context.state),
        run_config=dict(context.run_config),
    )


def mbit(content: RecordDict) -> float:
    """The size of a content in Mbit: arrays with their headers, metrics, configurations and all names."""
    bytes_all = 0
    for name, record in content.items():
        bytes_all += len(name)
        items: Iterable[tuple[str, Any]] = record.items()
        for key, value in items:
            bytes_all += len(key)
            if isinstance(record, ArrayRecord):
                bytes_all += len(value.data)
            else:
                bytes_all += sum(
                    _value_bytes(item) for item in (value if isinstance(value, list) else [value])
                )
    return bytes_all * 8e-6


def _value_bytes(value: Any) -> int:
    if isinstance(value, bool):
        return 1
    return len(value) if isinstance(value, str | bytes) else 8


def _numbers(content: RecordDict) -> dict[str, float]:
    """The finite numbers of all metric records."""
    found: dict[str, float] = {}
    for record in content.metric_records.values():
        for name, value in record.items():
            if isinstance(value, int | float) and math.isfinite(value):
                found[name] = float(value)
    return found


def added(numbers: Iterable[float]) -> float:
    """The sum, rounded once; NaN if it is too large for a number."""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return math.nan


def mean_metrics(contents: Iterable[RecordDict], weighted_by: str) -> dict[str, float]:
    """The means of all metrics that every reply has, weighted by one of them if every reply has it."""
    replies = [_numbers(content) for content in contents]
    if not replies:
        return {}
    names = [name for name in replies[0] if all(name in reply for reply in replies)]
    weights = [reply.get(weighted_by, math.nan) for reply in replies]
    total = added(weights)
    if not (math.isfinite(total) and total > 0 and min(weights) >= 0):
        weights, total = [1.0] * len(replies), float(len(replies))
    pairs = list(zip(replies, weights, strict=True))
    return {
        name: added(reply[name] * weight for reply, weight in pairs) / total
        for name in names
        if name != weighted_by
    }


def samples_told(content: RecordDict, name: str) -> float | None:
    """The number of samples that a reply reports."""
    return _numbers(content).get(name)


def train_loss(contents: Iterable[RecordDict]) -> float | None:
    """The mean loss of the local trainings: of the metric ``train_loss``, or else of ``loss``."""
    losses: list[float] = []
    for content in contents:
        numbers: Mapping[str, float] = _numbers(content)
        loss = next((numbers[name] for name in ("train_loss", "train-loss", "loss") if name in numbers), None)
        if loss is not None:
            losses.append(loss)
    mean = added(losses) / len(losses) if losses else math.nan
    return mean if math.isfinite(mean) else None
