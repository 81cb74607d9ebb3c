"""One round of timed replies becomes a fleet."""

from __future__ import annotations

import math
import time
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import VirtualGrid, measure
from fedflip.flower._flwr import identity
from fedflip.flower._messages import mbit
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp

FLEET = ff.Fleet.paper(6, seed=4)


def measured(
    app: Any = apps.app, config: ConfigRecord | None = None, clock: dict[str, Any] | None = None, **more: Any
) -> ff.Fleet:
    found: list[ff.Fleet] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        found.append(measure(grid, apps.first_model(), config, **{"devices": 6, **more}))

    VirtualGrid(app, FLEET, **{"bandwidth_mbps": 10, "payload": "measured", **(clock or {})}).run(server)
    return found[0]


@pytest.mark.parametrize("at_once", [1, 4, 6])
@pytest.mark.parametrize("bandwidth_mbps", [None, 10.0])
def test_a_virtual_fleet_is_measured_as_it_is(at_once: int, bandwidth_mbps: float | None) -> None:
    fleet = measured(at_once=at_once, bandwidth_mbps=bandwidth_mbps)
    assert fleet.compute_secs == pytest.approx(FLEET.compute_secs)
    assert fleet.samples.tolist() == [10] * 6
    content = RecordDict(
        {"arrays": apps.first_model(), "metrics": ConfigRecord({"train_loss": 0.0, "num-examples": 1})}
    )
    assert fleet.comm_secs == pytest.approx(np.full(6, mbit(content)))
    assert ff.plan(fleet, bandwidth_mbps=10).q.min() > 0


@pytest.mark.parametrize("downlink", ["none", "unicast"])
def test_payloads_of_the_fleet_are_measured_without_downloads(downlink: str) -> None:
    fleet = measured(clock={"payload": "fleet", "downlink": downlink}, at_once=3)
    assert fleet.compute_secs == pytest.approx(FLEET.compute_secs)
    assert fleet.comm_secs == pytest.approx(FLEET.comm_secs)


class RealGrid(Grid):
    """Clients that answer after a while by a clock that may be wrong."""

    def __init__(self, clock_secs: float) -> None:
        self.clock_secs = clock_secs

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any: ...

    def create_message(self, *words: Any) -> Any: ...

    def get_node_ids(self) -> Any:
        return [5, 6]

    def push_messages(self, messages: Any) -> Any: ...

    def pull_messages(self, message_ids: Any) -> Any: ...

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> Any:
        time.sleep(0.5)
        for message in messages:
            metrics = MetricRecord({"num-examples": math.inf})
            content = RecordDict({"a": ArrayRecord([np.zeros(10_000, np.float32)]), "m": metrics})
            reply = Message(content, reply_to=message)
            reply.metadata.created_at = time.time() - 0.2 + self.clock_secs
            yield reply


@pytest.mark.parametrize(("clock_secs", "secs"), [(0.0, 0.3), (1000.0, 0.5), (-1000.0, 0.5)])
def test_real_clients_are_measured_by_their_clocks_if_these_make_sense(
    clock_secs: float, secs: float
) -> None:
    with identity(1):
        fleet = measure(
            RealGrid(clock_secs), apps.first_model(), devices=2, nodes={5: 0, 6: 1}, bandwidth_mbps=4.0
        )
    # The upload of 0.32 Mbit at 4 Mbit/s is taken off.
    assert fleet.compute_secs == pytest.approx([secs - 0.08] * 2, abs=0.1)
    assert fleet.comm_secs == pytest.approx([0.32] * 2, rel=0.01)
    assert fleet.samples.tolist() == [1, 1], "what is no number of samples counts as one"


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"devices": 0}, "devices"),
        ({"devices": 2.5}, "devices"),
        ({"at_once": "all"}, "at_once"),
        ({"bandwidth_mbps": 0}, "bandwidth_mbps"),
        ({"bandwidth_mbps": -1.0}, "bandwidth_mbps"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_wrong_arguments_are_named(more: dict[str, Any], where: str) -> None:
    with pytest.raises(ff.InputError) as raised:
        measured(**more)
    assert raised.value.where == where


def test_a_client_that_fails_is_named() -> None:
    with pytest.raises(
        ff.FedflipError, match="device 2 could not be measured in 5 tries: ValueError: device 2 has no data"
    ):
        measured(apps.failing, ConfigRecord({"fails": [2]}), at_once=6)


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_client_that_vanishes_is_asked_again(at_once: int) -> None:
    fleet = measured(clock={"conditions": {"dropout": 0.3}, "seed": 1}, at_once=at_once)
    assert fleet.compute_secs == pytest.approx(FLEET.compute_secs)
    assert fleet.samples.tolist() == [10] * 6
