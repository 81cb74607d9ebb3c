"""Replies that cannot be used: their clients are lost, and the others count as ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import CoinStrategy, VirtualGrid
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

FLEET = ff.Fleet({"compute_secs": [1.0] * 4, "comm_secs": [1.0] * 4, "samples": [10, 20, 30, 40]})
FULL = ff.Plan.from_q(FLEET, [1.0] * 4)
ODD = 2

Change = Callable[[list[Any]], list[Any]]
BAD: dict[str, Change] = {
    "nan": lambda arrays: [np.full_like(arrays[0], np.nan), arrays[1]],
    "huge": lambda arrays: [arrays[0] + 1e300, arrays[1]],
    "shape": lambda arrays: [arrays[0].T, arrays[1]],
    "missing": lambda arrays: arrays[:1],
    "complex": lambda arrays: [array + 1j for array in arrays],
    "text": lambda arrays: [np.array(["abc"]), arrays[1]],
}


def app(change: Change, is_odd: Callable[[int, int], bool]) -> ClientApp:
    """Clients that add 1 to each number; some replies are changed, by device and round."""
    made = ClientApp()

    @made.train()
    def train(message: Message, context: Context) -> Message:
        arrays = [array + 1 for array in message.content["arrays"].to_numpy_ndarrays()]
        device = int(context.node_config["partition-id"])
        if is_odd(device, int(message.content["config"]["server-round"])):
            arrays = change(arrays)
        return Message(RecordDict({"a": ArrayRecord(arrays)}), reply_to=message)

    return made


def run(client_app: ClientApp, rounds: int, plan: ff.Plan = FULL, **more: Any) -> tuple[Any, CoinStrategy]:
    results: list[Any] = []
    strategy = CoinStrategy(plan, fraction_evaluate=0.0, **more)
    VirtualGrid(client_app, FLEET, bandwidth_mbps=2).run(apps.server_of(strategy, results, rounds))
    return results[0].arrays["0"].numpy(), strategy


@pytest.mark.parametrize("bad", list(BAD))
def test_one_client_ends_no_run_and_costs_no_other_its_update(tmp_path: Path, bad: str) -> None:
    value, strategy = run(app(BAD[bad], lambda device, _: device == ODD), 3, out=tmp_path / "run")
    # Three of four clients have 70 % of the samples, and nobody's weight grows.
    first = apps.first_model()["0"].numpy()
    assert np.allclose(value, first + 3 * 0.7, atol=1e-6)
    assert strategy.lost == {ODD: "not_finite" if bad in ("nan", "huge") else "refused"}
    opened = ff.open(tmp_path / "run")
    assert opened.rounds["lost"].tolist() == [1, 1, 1]


def test_a_refused_reply_ends_a_run_that_is_to_raise() -> None:
    with pytest.raises(ff.FedflipError, match=r"1 of 4 clients did not report: 2 \(refused\)"):
        run(app(BAD["shape"], lambda device, _: device == ODD), 3, on_lost="raise")


def test_a_lonely_client_is_refused_as_others_are() -> None:
    """Once a reply could be used, the app is not to blame."""
    alone = ff.Plan.from_q(FLEET, [1.0, 1e-9, 1e-9, 1e-9])
    for bad in ("shape", "nan"):
        value, _ = run(app(BAD[bad], lambda _, round: round == 2), 3, alone)
        assert np.allclose(value, apps.first_model()["0"].numpy() + 2 * 0.1, atol=1e-6)


@pytest.mark.parametrize("bad", ["shape", "nan", "raise"])
def test_a_resumed_run_takes_failures_as_the_whole_run_does(tmp_path: Path, bad: str) -> None:
    """That a client has worked before is known from the records."""

    def fail(arrays: list[Any]) -> list[Any]:
        raise ValueError("no room")

    alone = ff.Plan.from_q(FLEET, [1.0, 1e-9, 1e-9, 1e-9])
    failing = app(BAD.get(bad, fail), lambda _, round: round in (3, 4))
    more: dict[str, Any] = {"plan": alone, "checkpoint_secs": 0.0}
    whole, _ = run(failing, 6, out=tmp_path / "whole", **more)
    run(failing, 3, out=tmp_path / "part", **more)
    resumed, _ = run(failing, 6, out=tmp_path / "part", resume=True, **more)
    assert np.array_equal(whole, resumed)
    records = [(tmp_path / name / "records.jsonl").read_bytes() for name in ("whole", "part")]
    assert records[0] == records[1]


def test_rounds_of_nothing_but_nan_are_a_divergence() -> None:
    alone = ff.Plan.from_q(FLEET, [1.0, 1e-9, 1e-9, 1e-9])
    with pytest.raises(ff.FedflipError, match=r"the run diverged: client 0 .* in round 4"):
        run(app(BAD["nan"], lambda _, round: round > 1), 9, alone)
    with pytest.raises(ff.FedflipError, match=r"the run diverged: client 0 .* in round 2"):
        run(app(BAD["nan"], lambda _, round: round > 1), 9)


def test_other_numbers_of_samples_than_the_fleet_has_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    made = ClientApp()

    @made.train()
    def train(message: Message, context: Context) -> Message:
        content = RecordDict({"a": message.content["arrays"], "m": MetricRecord({"num-examples": 25})})
        return Message(content, reply_to=message)

    with caplog.at_level("WARNING", logger="flwr"):
        run(made, 2)
    told = [record.getMessage() for record in caplog.records if "num-examples" in record.getMessage()]
    assert told == [
        "The client of device 0 reports num-examples = 25, and the plan's fleet has 10 samples: weights follow the plan."
    ]


def test_numbers_that_no_sum_holds_end_nothing(tmp_path: Path) -> None:
    made = ClientApp()

    @made.train()
    def train(message: Message, context: Context) -> Message:
        metrics = MetricRecord({"num-examples": 1e308, "train_loss": 1e308})
        return Message(RecordDict({"a": message.content["arrays"], "m": metrics}), reply_to=message)

    run(made, 2, out=tmp_path / "run")
    assert len(ff.open(tmp_path / "run")) == 2


def test_plans_without_coins_and_for_other_downlinks_or_nodes_are_refused() -> None:
    drawn = ff.plan(FLEET, bandwidth_mbps=2, scheme="fedavg=2")
    with pytest.raises(ff.InputError, match="the scheme fedavg=2 draws no coins"):
        CoinStrategy(drawn)
    coins = ff.plan(FLEET, bandwidth_mbps=2, scheme="fixed=0.5")
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2, downlink="broadcast", downlink_bandwidth_mbps=2)
    with pytest.raises(ff.InputError, match="the plan has downlink='none'"):
        grid.run(apps.server_of(CoinStrategy(coins), [], 1))
    shifted = {node: (device + 1) % 4 for node, device in grid.partitions.items()}
    with pytest.raises(ff.InputError, match="nodes names other devices"):
        VirtualGrid(apps.app, FLEET, bandwidth_mbps=2).run(
            apps.server_of(CoinStrategy(coins, nodes=shifted), [], 1)
        )
