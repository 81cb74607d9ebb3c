"""Clients that fail, exit, or send what nobody expects."""

from __future__ import annotations

import logging
import math
import sys
import warnings
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
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

FLEET = ff.Fleet(
    {"compute_secs": [1.0, 2.0, 3.0, 1.5], "comm_secs": [1.0, 2.0, 1.0, 0.5], "samples": [10, 20, 30, 40]}
)
FULL = ff.Plan.from_q(FLEET, [1.0] * 4)


def clients(
    train: Callable[[int, ArrayRecord], Any], evaluate: Callable[[int], dict[str, Any]] | None = None
) -> ClientApp:
    """Clients that reply with an ArrayRecord, or with metrics and the arrays that they got."""
    app = ClientApp()

    @app.train()
    def answer(message: Message, context: Context) -> Message:
        arrays = message.content["arrays"]
        made = train(context.node_config["partition-id"], arrays)
        content = RecordDict({"arrays": made if isinstance(made, ArrayRecord) else arrays})
        if isinstance(made, dict):
            content["metrics"] = MetricRecord(made)
        return Message(content, reply_to=message)

    if evaluate is not None:

        @app.evaluate()
        def scored(message: Message, context: Context) -> Message:
            metrics = MetricRecord(evaluate(context.node_config["partition-id"]))
            return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


def run(app: Any, strategy: Any = None, rounds: int = 2, arrays: Any = None, **more: Any) -> Any:
    """The result of a run in which every client takes part."""
    results: list[Any] = []
    strategy = strategy or CoinStrategy(FULL, fraction_evaluate=0.0)
    grid = VirtualGrid(app, FLEET, bandwidth_mbps=2, **more)
    grid.run(apps.server_of(strategy, results, rounds, arrays=arrays))
    return results[0]


@pytest.mark.parametrize(
    ("metrics", "mean"),
    [
        (lambda device: {"num-examples": 0, "loss": float(device)}, 1.5),
        (lambda device: {"num-examples": [1, 2], "loss": float(device)}, 1.5),
        (lambda device: {"num-examples": -1, "loss": float(device)}, 1.5),
        (lambda device: {"num-examples": math.inf, "loss": float(device)}, 1.5),
        (lambda device: {"num-examples": math.nan, "loss": float(device)}, 1.5),
        (lambda device: {"num-examples": 1, "loss": 2.0, "x": [1.0] * (device + 1)}, 2.0),
        (lambda device: {"num-examples": 1, "loss": 2.0, "x": [1.0] if device else 1.0}, 2.0),
        (lambda device: {"num-examples": 1 + 3 * (device == 3), "loss": float(device)}, 15 / 7),
    ],
)
def test_metrics_that_cannot_be_weighted_end_no_run(metrics: Any, mean: float) -> None:
    found = run(clients(lambda device, arrays: metrics(device))).train_metrics_clientapp
    assert found[1]["loss"] == pytest.approx(mean) and found[2]["loss"] == pytest.approx(mean)


def test_names_of_metrics_that_a_terminal_would_obey(tmp_path: Path) -> None:
    names = ["eval acc %", "two\nlines", "\x1b[31mred", "", "long" * 200]
    strategy = CoinStrategy(FULL, fraction_evaluate=1.0, out=tmp_path / "run")
    run(clients(lambda device, arrays: {}, lambda device: dict.fromkeys(names, 0.5)), strategy)
    shown = ff.open(tmp_path / "run").evaluations.columns
    assert {"eval acc %", "two?lines", "?[31mred"} <= set(shown)
    assert max(map(len, shown)) == 200


def test_arrays_that_cannot_be_read_name_their_client() -> None:
    def garbage(device: int, arrays: ArrayRecord) -> ArrayRecord:
        broken = Array(dtype="float32", shape=(2, 3), stype="numpy.ndarray", data=b"garbage")
        return ArrayRecord({"0": broken, "1": arrays["1"]})

    with pytest.raises(
        ff.InputError, match=r"client 0 \(device-0\) in round 1: the array '0' cannot be read"
    ):
        run(clients(garbage))
    with pytest.raises(ff.InputError, match="client 0 .* has complex numbers, and the model's has real ones"):
        run(clients(lambda device, arrays: ArrayRecord([x + 1j for x in arrays.to_numpy_ndarrays()])))


def test_updates_of_other_types_are_added_as_they_are() -> None:
    """Fractions for an integer are rounded once, in the sum; numbers that no type holds are a divergence or a limit."""

    def fractions(device: int, arrays: ArrayRecord) -> ArrayRecord:
        return ArrayRecord([arrays.to_numpy_ndarrays()[0] + np.array([0.75, 1e300, -1e300])])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = (
            run(clients(fractions), rounds=1, arrays=ArrayRecord([np.array([1, 2, 3])])).arrays["0"].numpy()
        )
        assert whole.dtype == np.int64
        assert whole.tolist() == [2, 2**62 + 2, 3 - 2**62]
        with pytest.raises(
            ff.FedflipError, match="the run diverged: client 0 .* holds NaN, infinite or too large numbers"
        ):
            run(clients(fractions), arrays=ArrayRecord([np.zeros(3, np.float32)]))


@pytest.mark.parametrize("first", [ArrayRecord({}), ArrayRecord([np.zeros((0, 3), np.float32)])])
@pytest.mark.parametrize("optimiser", [None, "adam"])
def test_a_model_without_numbers_trains_and_is_recorded(tmp_path: Path, first: Any, optimiser: Any) -> None:
    results: list[Any] = []
    strategy = CoinStrategy(FULL, server_optimiser=optimiser, fraction_evaluate=0.0, out=tmp_path / "run")
    server = apps.ServerApp()
    server.main()(lambda grid, context: results.append(strategy.start(grid, first, num_rounds=2)))
    VirtualGrid(clients(lambda device, arrays: {"loss": 1.0}), FLEET, bandwidth_mbps=2).run(server)
    assert list(results[0].arrays) == list(first) and len(ff.open(tmp_path / "run")) == 2


def test_a_lonely_client_that_fails_is_lost_as_others_are() -> None:
    """Cohorts of one are common with coins: whether a run continues does not depend on them."""
    plan = ff.Plan.from_q(FLEET, [0.3, 0.9, 0.5, 0.6])

    def train(device: int, arrays: ArrayRecord) -> Any:
        if device == 1:
            raise ValueError("no data")
        return {"loss": 1.0}

    cohorts = [plan.sample(round=round, seed=3).tolist() for round in range(1, 9)]
    assert [1] in cohorts and cohorts[0] != [1]
    strategy = CoinStrategy(plan, seed=3, fraction_evaluate=0.0)
    run(clients(train), strategy, rounds=8)
    with pytest.raises(ff.FedflipError, match="1 .*did not report: 1 .failed."):
        run(clients(train), CoinStrategy(plan, seed=3, fraction_evaluate=0.0, on_lost="raise"), rounds=8)


exits = ClientApp()


@exits.train()
def exits_train(message: Message, context: Context) -> Message:
    if context.node_config["partition-id"] == 2:
        sys.exit("no data on this disk")
    return apps.train(message, context)


@pytest.mark.parametrize("workers", [None, 2])
def test_an_exit_of_client_code_is_a_failure_of_that_client(workers: int | None) -> None:
    lost: list[Any] = []

    class Watching(CoinStrategy):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            replies = list(replies)
            lost.extend(str(reply.error.reason) for reply in replies if reply.has_error())
            return super().aggregate_train(server_round, replies)

    strategy = Watching(FULL, fraction_evaluate=0.0)
    run("test_hostile_clients:exits", strategy, rounds=1, workers=workers)
    assert strategy.lost == {2: "failed"}
    (reason,) = lost
    assert "SystemExit: no data on this disk" in reason and "exits_train" in reason


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("kind", ["fails", "dies"])
def test_coins_flag_clients_that_fail_or_die(
    workers: int | None, kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "dies" and workers is None:
        pytest.skip("the process of the client is that of the test")
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)

    class Tells(CoinStrategy):
        def configure_train(self, server_round: int, arrays: Any, config: ConfigRecord, grid: Any) -> Any:
            config["fails"] = []
            config[kind] = [1]
            return super().configure_train(server_round, arrays, config, grid)

    strategy = Tells(FULL, fraction_evaluate=0.0)
    run(apps.failing, strategy, rounds=1, workers=workers)
    assert strategy.lost == {1: "failed"}
    if kind == "fails":
        assert "broken_on_purpose" in caplog.text and "ValueError: device 1 has no data" in caplog.text
    else:
        assert "SIGKILL" in caplog.text


def test_arrays_that_grow_are_recorded_as_far_as_they_can_be(tmp_path: Path) -> None:
    """As the trees of XGBoost do, which travel as bytes; and texts, which are no numbers."""

    class Grows(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            return ArrayRecord([np.zeros(3 * server_round, np.uint8), np.array(["a text"])]), None

    first = ArrayRecord([np.frombuffer(b"", np.uint8), np.array(["a text"])])
    result = run(
        clients(lambda device, arrays: {"num-examples": 1, "loss": 1.0}),
        Grows(fraction_evaluate=0.0),
        3,
        first,
        out=tmp_path / "run",
    )
    assert result.arrays["0"].numpy().shape == (9,)
    opened = ff.open(tmp_path / "run")
    assert len(opened) == 3 and opened.ended


def test_strange_timeouts() -> None:
    for timeout, arrives in ((0.0, False), (-1, False), (math.inf, True), (100, True)):
        result = run_once(timeout)
        assert (result.train_metrics_clientapp != {}) == arrives
    with pytest.raises(ff.InputError, match="timeout: 'soon' is not a number"):
        run_once("soon")


def run_once(timeout: Any) -> Any:
    results: list[Any] = []
    server = apps.server_of(FedAvg(fraction_evaluate=0.0), results, 1, timeout=timeout)
    VirtualGrid(apps.app, FLEET, bandwidth_mbps=2).run(server)
    return results[0]


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_without_a_text_is_a_loss_like_others() -> None:
    def fail(device: int, arrays: ArrayRecord) -> ArrayRecord:
        if device == 2:
            raise WordlessError
        return arrays

    strategy = CoinStrategy(FULL, fraction_evaluate=0.0)
    run(clients(fail), strategy)
    assert strategy.lost == {2: "failed"}
