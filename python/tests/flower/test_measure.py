"""One round of timed replies becomes a fleet."""

from __future__ import annotations

from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import VirtualGrid, measure
from fedflip.flower._messages import mbit
from flwr.app import ConfigRecord, Context, RecordDict
from flwr.serverapp import Grid, ServerApp

FLEET = ff.Fleet.paper(6, seed=4)


def measured(app: Any = apps.app, config: ConfigRecord | None = None, **more: Any) -> ff.Fleet:
    found: list[ff.Fleet] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        found.append(measure(grid, apps.first_model(), config, **{"devices": 6, **more}))

    VirtualGrid(app, FLEET, bandwidth_mbps=10, payload="measured").run(server)
    return found[0]


@pytest.mark.parametrize("at_once", [1, 6])
def test_a_virtual_fleet_is_measured_as_it_is(at_once: int) -> None:
    fleet = measured(at_once=at_once)
    assert fleet.compute_secs == pytest.approx(FLEET.compute_secs)
    assert fleet.samples.tolist() == [10] * 6
    content = RecordDict(
        {"arrays": apps.first_model(), "metrics": ConfigRecord({"train_loss": 0.0, "num-examples": 1})}
    )
    assert fleet.comm_secs == pytest.approx(np.full(6, mbit(content)))
    assert ff.plan(fleet, bandwidth_mbps=10).q.min() > 0


def test_uploads_are_taken_off_and_failures_are_named() -> None:
    slow = measured(bandwidth_mbps=1e-3)
    assert np.all(slow.compute_secs < FLEET.compute_secs)
    with pytest.raises(
        ff.FedflipError, match="device 2 could not be measured: ValueError: device 2 has no data"
    ):
        measured(apps.failing, ConfigRecord({"fails": [2]}), at_once=6)
    with pytest.raises(ff.InputError, match="devices is 0"):
        measured(devices=0)
