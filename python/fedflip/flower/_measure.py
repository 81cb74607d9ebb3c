"""A fleet from one round of timed replies."""

from __future__ import annotations

import time
from collections.abc import Mapping
from logging import WARNING

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedflip._errors import FedflipError, InputError
from fedflip._fleet import Fleet
from fedflip.flower._flwr import flower_log
from fedflip.flower._grid import VirtualGrid
from fedflip.flower._messages import mbit
from fedflip.flower._nodes import Nodes

__all__ = ["measure"]

#: What takes no time at all still takes this long: a fleet has no device that computes for 0 seconds.
_LEAST_SECS = 1e-6


def measure(
    grid: Grid,
    arrays: ArrayRecord,
    config: ConfigRecord | None = None,
    *,
    devices: int,
    nodes: Mapping[int, int] | None = None,
    bandwidth_mbps: float | None = None,
    at_once: int = 1,
    timeout: float = 3600.0,
    weighted_by_key: str = "num-examples",
    arrayrecord_key: str = "arrays",
    configrecord_key: str = "config",
) -> Fleet:
    """Trains each client once, and makes a fleet of what that took: the input of :func:`fedflip.plan`.

    ``comm_secs`` is the size of the reply in Mbit, which is its upload in seconds at 1 Mbit/s. ``compute_secs`` is the time
    from the message to the reply, without the upload if ``bandwidth_mbps`` is given. ``samples`` is the metric
    ``num-examples`` of the reply. The trained models are not used.

    The time to the reply is by the clock of the client if that makes sense, and otherwise until the reply arrived. On a
    :class:`VirtualGrid` all times are virtual and exact.

    Args:
        grid: The grid.
        arrays: A model to train from.
        config: What clients are told.
        devices: The number of clients; the call waits until all are connected.
        nodes: The device of each node id, in the place of partition ids.
        bandwidth_mbps: The bandwidth of one client's upload, if it is known.
        at_once: The number of clients that train at the same time. Clients that share a machine slow each other down.
        timeout: The longest time to wait for a reply.
        weighted_by_key: The metric with the number of samples.
        arrayrecord_key: The name of the arrays in messages.
        configrecord_key: The name of the configuration in messages.

    Returns:
        The fleet, with a device for each client.

    Raises:
        FedflipError: A client did not report.

    Examples:
        >>> fleet = measure(grid, arrays, devices=3)  # doctest: +SKIP
        >>> plan = fedflip.plan(fleet, bandwidth_mbps=10)  # doctest: +SKIP
    """
    if devices < 1 or at_once < 1:
        raise InputError(
            f"devices is {devices} and at_once is {at_once}; both must be at least 1",
            where="devices",
            value=devices,
            remedy="name the number of clients",
        )
    known = Nodes(tuple(f"client-{device}" for device in range(devices)), nodes)
    node_of = known.wait(grid, devices)
    content = RecordDict({arrayrecord_key: arrays, configrecord_key: config or ConfigRecord()})
    columns: dict[str, list[float]] = {"compute_secs": [], "comm_secs": [], "samples": []}
    order = sorted(node_of)
    for first in range(0, len(order), at_once):
        batch = order[first : first + at_once]
        for row in _timed(
            grid, {node_of[device]: device for device in batch}, content, timeout, weighted_by_key
        ):
            compute_secs, comm_secs, samples = row
            upload_secs = 0.0 if bandwidth_mbps is None else comm_secs / bandwidth_mbps
            columns["compute_secs"].append(max(compute_secs - upload_secs, _LEAST_SECS))
            columns["comm_secs"].append(comm_secs)
            columns["samples"].append(samples)
    names = [f"client-{device}" for device in order]
    return Fleet({"device": names, **{name: np.asarray(column) for name, column in columns.items()}})


def _timed(
    grid: Grid, device_of: Mapping[int, int], content: RecordDict, timeout: float, weighted_by: str
) -> list[tuple[float, float, float]]:
    """Compute time, payload in Mbit and samples of some clients, in the order of the devices."""
    messages = [Message(content, node, MessageType.TRAIN) for node in device_of]
    sent_at, began = time.time(), time.monotonic()
    came = list(grid.send_and_receive(messages, timeout=timeout))
    waited_secs = time.monotonic() - began
    # A SuperLink answers for a node that it cannot reach, and does not say for which.
    replies = {device_of.get(reply.metadata.src_node_id): reply for reply in came}
    rows = []
    for device in sorted(device_of.values()):
        reply = replies.get(device)
        if reply is None or reply.has_error():
            reason = "there was no reply" if reply is None else reply.error.reason
            raise FedflipError(
                f"the client of device {device} could not be measured: {reason}",
                remedy="look at its log, or plan without it",
            )
        if isinstance(grid, VirtualGrid) and grid.last_round is not None:
            place = grid.last_round.cohort.index(device)
            secs = grid.last_round.compute_secs[place]
        else:
            secs = float(reply.metadata.created_at) - sent_at
            secs = secs if 0.0 < secs <= waited_secs else waited_secs
        rows.append((secs, mbit(reply.content), _samples(reply, device, weighted_by)))
    return rows


def _samples(reply: Message, device: int, weighted_by: str) -> float:
    for record in reply.content.metric_records.values():
        value = record.get(weighted_by)
        if isinstance(value, int | float) and value > 0:
            return float(value)
    flower_log(
        WARNING, "The client of device %d does not tell %s: it counts as one sample", device, weighted_by
    )
    return 1.0
