"""A fleet from one round of timed replies."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from logging import WARNING

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedflip._arguments import count, number
from fedflip._errors import FedflipError, InputError
from fedflip._fleet import Fleet
from fedflip.flower._flwr import flower_log
from fedflip.flower._grid import VirtualGrid
from fedflip.flower._messages import mbit
from fedflip.flower._nodes import Nodes

__all__ = ["measure"]

#: A fleet has no device that computes for 0 seconds.
_LEAST_SECS = 1e-6
#: A client that is lost, on a network or on a virtual clock, is asked again: the others are measured already. One that was
#: silent for the whole time is not waited for again.
_TRIES = 5
_SILENCE = "there was no reply"


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

    The client's clock measures the time to the reply if its times are plausible; otherwise the time ends when the reply
    arrives. On a :class:`VirtualGrid`, compute times and uploads are those of the virtual clock, which separates them:
    ``bandwidth_mbps`` changes nothing there.

    Args:
        grid: The grid.
        arrays: A model to train from.
        config: The configuration that clients get.
        devices: The number of clients; the call waits until all are connected.
        nodes: The device of each node id, in the place of partition ids.
        bandwidth_mbps: The bandwidth of one client's upload, if it is known, in Mbit/s.
        at_once: The number of clients that train at the same time. Clients that share a machine slow each other down.
        timeout: The longest time to wait for a reply, in seconds.
        weighted_by_key: The metric with the number of samples.
        arrayrecord_key: The name of the arrays in messages.
        configrecord_key: The name of the configuration in messages.

    Returns:
        The fleet, with a device for each client.

    Raises:
        FedflipError: A client did not reply, or failed five times.

    Examples:
        >>> fleet = measure(grid, arrays, devices=3)  # doctest: +SKIP
        >>> plan = fedflip.plan(fleet, bandwidth_mbps=10)  # doctest: +SKIP
    """
    devices, at_once = count("devices", devices, least=1), count("at_once", at_once, least=1)
    number("bandwidth_mbps", bandwidth_mbps, optional=True, above=0)
    number("timeout", timeout, above=0)
    names = tuple(f"client-{device}" for device in range(devices))
    node_of = Nodes(names, nodes).wait(grid, devices)
    content = RecordDict({arrayrecord_key: arrays, configrecord_key: config or ConfigRecord()})
    compute_secs, comm_secs, samples = np.zeros((3, devices))
    for first in range(0, devices, at_once):
        missing: Mapping[int, str] = dict.fromkeys(range(first, min(first + at_once, devices)), "")
        tries = 0
        while missing and tries < _TRIES and _SILENCE not in missing.values():
            tries += 1
            device_of = {node_of[device]: device for device in missing}
            replies, missing = _timed(grid, device_of, content, timeout)
            for device, (reply, secs) in replies.items():
                comm_secs[device] = mbit(reply.content)
                samples[device] = _samples(reply, device, weighted_by_key)
                if isinstance(grid, VirtualGrid):
                    measured = _on_virtual_clock(grid, device, comm_secs[device])
                    compute_secs[device], comm_secs[device] = measured
                else:
                    compute_secs[device] = _without_upload(device, secs, comm_secs[device], bandwidth_mbps)
        for device, reason in missing.items():
            again = f" in {tries} tries" if tries > 1 else ""
            raise FedflipError(
                f"the client of device {device} could not be measured{again}: {reason}",
                remedy="look at its log, or plan without it",
            )
    compute_secs = np.maximum(compute_secs, _LEAST_SECS)
    columns = {"compute_secs": compute_secs, "comm_secs": comm_secs, "samples": samples}
    fleet = Fleet({"device": list(names), **columns})
    if isinstance(grid, VirtualGrid):
        grid._measured.append(fleet)
    return fleet


def _timed(
    grid: Grid, device_of: Mapping[int, int], content: RecordDict, timeout: float
) -> tuple[dict[int, tuple[Message, float]], dict[int, str]]:
    """The replies of some clients in the order of the devices, each with the seconds until it was made, and why others lack."""
    messages = [Message(content, node, MessageType.TRAIN) for node in device_of]
    sent_at, began = time.time(), time.monotonic()
    came = list(grid.send_and_receive(messages, timeout=timeout))
    waited_secs = time.monotonic() - began
    # A SuperLink answers for a node that it cannot reach, and does not say for which.
    by_device = {device_of.get(reply.metadata.src_node_id): reply for reply in came}
    replies, missing = {}, {}
    for device in sorted(device_of.values()):
        reply = by_device.get(device)
        if reply is None or reply.has_error():
            missing[device] = _SILENCE if reply is None else reply.error.reason
            continue
        took_secs = float(reply.metadata.created_at) - sent_at
        replies[device] = reply, took_secs if 0.0 < took_secs <= waited_secs else waited_secs
    return replies, missing


def _without_upload(device: int, secs: float, comm_secs: float, bandwidth_mbps: float | None) -> float:
    """The compute time in the time of a reply."""
    if bandwidth_mbps is None:
        return secs
    compute_secs = secs - comm_secs / bandwidth_mbps
    if compute_secs > 0:
        return compute_secs
    raise InputError(
        f"the upload of client {device} alone takes longer at {bandwidth_mbps:g} Mbit/s than training and upload took "
        "together",
        where="bandwidth_mbps",
        value=bandwidth_mbps,
        remedy="give the bandwidth of one client's upload, or leave it out",
    )


def _on_virtual_clock(grid: VirtualGrid, device: int, reply_mbit: float) -> tuple[float, float]:
    """The compute time and the payload in Mbit that a device had in the last round."""
    timed = grid._rounds.last
    assert timed is not None
    place = timed.cohort.index(device)
    payload_mbit = reply_mbit if grid._rounds.is_measured else timed.upload_secs[place] * timed.mbps[place]
    return timed.compute_secs[place] - timed.download_secs, payload_mbit


def _samples(reply: Message, device: int, weighted_by: str) -> float:
    for record in reply.content.metric_records.values():
        value = record.get(weighted_by)
        if isinstance(value, int | float) and 0 < value < math.inf:
            return float(value)
    flower_log(
        WARNING, "The client of device %d does not tell %s: it counts as one sample", device, weighted_by
    )
    return 1.0
