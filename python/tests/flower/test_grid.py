"""VirtualGrid: any Flower app on the virtual clock."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import CoinStrategy, VirtualGrid
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx, FedYogi

FLEET = ff.Fleet.paper(8, seed=1)
STRATEGIES = {
    "fedavg": lambda: FedAvg(fraction_train=0.5),
    "fedprox": lambda: FedProx(fraction_train=0.5, proximal_mu=0.1),
    "fedadam": lambda: FedAdam(fraction_train=0.5),
    "fedyogi": lambda: FedYogi(fraction_train=0.5),
}


def grid_of(app: Any = apps.app, **more: Any) -> VirtualGrid:
    return VirtualGrid(app, more.pop("fleet", FLEET), **{"bandwidth_mbps": 10.0, **more})


def run(strategy: Any, app: Any = apps.app, rounds: int = 5, **more: Any) -> tuple[str, float]:
    """The digest of the last model, and the virtual time."""
    results: list[Any] = []
    grid = grid_of(app, **more)
    grid.run(apps.server_of(strategy, results, rounds))
    return apps.digest(results[0].arrays), grid.now


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", STRATEGIES)
def test_flower_strategies_train_and_are_reproducible(name: str) -> None:
    first, second = run(STRATEGIES[name](), seed=3), run(STRATEGIES[name](), seed=3)
    assert first == second
    assert first[1] > 0
    # Another seed draws other cohorts, so the model is another one.
    assert run(STRATEGIES[name](), seed=4)[0] != first[0]


def test_a_round_takes_as_long_as_its_cohort_shares_the_bandwidth() -> None:
    seen: list[tuple[list[int], float]] = []

    class Watching(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            devices = sorted(grid.partitions[reply.metadata.src_node_id] for reply in replies)
            seen.append((devices, grid.now))
            return super().aggregate_train(server_round, replies)

    grid = grid_of(overhead_secs=0.5)
    grid.run(apps.server_of(Watching(fraction_train=0.4), [], 4))
    before = 0.0
    for devices, now in seen:
        alone = ff.allocate(FLEET, devices, bandwidth_mbps=10).round_secs
        assert now - before == pytest.approx(alone + 0.5, rel=1e-12)
        before = now


def test_coins_cohorts_and_times_are_those_of_simulate(tmp_path: Path) -> None:
    class Mean:
        devices = len(FLEET)

        def samples(self, device: int) -> int:
            return 10

        def initial(self, seed: int) -> Any:
            return np.zeros(4, np.float32)

        def train(self, model: Any, key: Any) -> Any:
            return (0.1 * (key.device - model)).astype(np.float32), float(
                np.square(key.device - model).mean()
            )

        def evaluate(self, model: Any) -> Any:
            return {"loss": float(model.mean())}

    fleet = FLEET.with_samples([10] * len(FLEET))
    plan = ff.plan(fleet, bandwidth_mbps=10, scheme="fixed=0.3")
    conditions = {"dropout": 0.2, "compute_jitter": 0.3, "fading_db": 3.0}
    native = ff.simulate(
        Mean(),
        fleet=fleet,
        plan=plan,
        seed=5,
        rounds_max=30,
        world=conditions,
        deadline_secs=0.6,
        progress=False,
    )
    strategy = CoinStrategy(plan, seed=5, out=tmp_path / "run")
    grid = grid_of(fleet=fleet, conditions=conditions, seed=5, deadline_secs=0.6)
    results: list[Any] = []
    arrays = ArrayRecord([np.zeros(4, np.float32)])
    grid.run(apps.server_of(strategy, results, 30, arrays=arrays))
    flower = ff.open(tmp_path / "run")
    for column in ("round", "device", "mbps", "reported"):
        assert np.array_equal(native.participants[column], flower.participants[column]), column
    assert not np.all(native.participants["reported"])
    for column in [name for name in native.rounds.columns if name.endswith("_secs")]:
        # The first row of a native run is the evaluation of its first model.
        assert np.array_equal(native.rounds[column][-30:], flower.rounds[column][-30:]), column
    (name,) = native.model
    assert np.allclose(native.model[name], flower.model["0"], rtol=1e-5)


def test_contexts_persist_and_those_of_lost_clients_stay() -> None:
    grid = grid_of(conditions={"dropout": 0.4}, seed=2)
    trained = dict.fromkeys(range(len(FLEET)), 0)

    class Counting(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            for reply in replies:
                trained[grid.partitions[reply.metadata.src_node_id]] += int(not reply.has_error())
            return super().aggregate_train(server_round, replies)

    grid.run(apps.server_of(Counting(), [], 6))
    counts = {
        grid.partitions[node]: context.state["rounds"]["count"]
        for node, context in grid._clients.contexts.items()
        if "rounds" in context.state
    }
    assert counts == {device: count for device, count in trained.items() if count}
    assert 0 < sum(counts.values()) < 6 * len(FLEET)


def test_lost_clients_are_error_replies_and_timeout_is_a_deadline() -> None:
    replies: list[Message] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        content = RecordDict({"arrays": apps.first_model(), "config": ConfigRecord()})
        messages = [Message(content, node, "train") for node in grid.get_node_ids()]
        replies.extend(grid.send_and_receive(messages, timeout=0.4))

    grid = grid_of()
    grid.run(server)
    late = [reply for reply in replies if reply.has_error()]
    assert len(replies) == len(FLEET) and 0 < len(late) < len(FLEET)
    assert all("missed the deadline" in str(reply.error.reason) for reply in late)
    assert grid.now == pytest.approx(0.4)


def test_measured_payloads_decide_the_upload() -> None:
    def secs(numbers: int, payload: str) -> float:
        arrays = ArrayRecord([np.zeros(numbers, np.float32)])
        grid = grid_of(payload=payload)
        grid.run(apps.server_of(FedAvg(fraction_evaluate=0.0), [], 1, arrays=arrays))
        return grid.now

    assert secs(1000, "fleet") == secs(100_000, "fleet")
    # 8 uploads of 3.2 Mbit at 10 Mbit/s take 2.56 s more than almost nothing.
    assert secs(100_000, "measured") - secs(10, "measured") == pytest.approx(2.56, rel=0.05)


def test_evaluations_cost_nothing_unless_asked() -> None:
    def secs(**more: Any) -> float:
        return run(FedAvg(fraction_evaluate=1.0), rounds=2, **more)[1]

    free, costly = secs(), secs(evaluate_share=0.5)
    half = 0.5 * float(FLEET.compute_secs.max())
    assert costly - free == pytest.approx(2 * half, rel=0.01)


def test_messages_of_other_kinds_and_second_messages() -> None:
    app, asked = ClientApp(), []

    @app.query("state")
    def state(message: Message, context: Context) -> Message:
        asked.append(context.node_config["partition-id"])
        return Message(
            RecordDict({"c": ConfigRecord({"n": context.node_config["num-partitions"]})}), reply_to=message
        )

    app.train("twice")(lambda message, context: apps.train(message, context))
    found: dict[str, Any] = {}
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        nodes = list(grid.get_node_ids())
        ids = list(grid.push_messages([Message(RecordDict(), nodes[2], "query.state")]))
        (reply,) = grid.pull_messages(ids)
        found["query"] = reply.content["c"]["n"], grid.now
        assert list(grid.pull_messages(ids)) == []
        content = RecordDict({"arrays": apps.first_model()})
        messages = [Message(content, nodes[0], "train.twice") for _ in range(2)]
        found["replies"] = len(list(grid.send_and_receive(messages)))
        found["run"] = grid.run.run_id, context.run_config["lr"]

    grid = grid_of(app, run_config={"lr": 0.5})
    grid.run(server)
    assert found["query"] == (len(FLEET), 0.0) and asked == [2]
    assert found["replies"] == 2 and found["run"] == (1, 0.5)
    # Two rounds, one after the other.
    alone = ff.allocate(FLEET, [0], bandwidth_mbps=10).round_secs
    assert grid.now == pytest.approx(2 * alone)


def test_clients_cannot_change_what_others_get() -> None:
    assert run(FedAvg(fraction_evaluate=0.0), apps.greedy) == run(FedAvg(fraction_evaluate=0.0), apps.app)


class Failing(FedAvg):
    """Tells clients which of them fail, and keeps the errors."""

    def __init__(self, fails: list[int], dies: list[int] | None = None) -> None:
        super().__init__(fraction_evaluate=0.0)
        self.named = {"fails": fails, **({"dies": dies} if dies else {})}
        self.errors: list[str] = []

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        config.update(self.named)
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round: int, replies: Any) -> Any:
        self.errors += [str(reply.error.reason) for reply in replies if reply.has_error()]
        return super().aggregate_train(server_round, replies)


@pytest.mark.parametrize("workers", [None, 2])
def test_an_exception_is_an_error_reply_with_its_traceback(
    workers: int | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    strategy = Failing([3])
    grid = grid_of(apps.failing, workers=workers)
    grid.run(apps.server_of(strategy, [], 2))
    assert len(strategy.errors) == 2
    for text in (strategy.errors[0], caplog.text):
        assert "ValueError: device 3 has no data" in text
        assert "broken_on_purpose" in text and "flower_apps.py" in text
    states = [context.state for context in grid._clients.contexts.values()]
    assert ["touched" in state for state in states] == [device != 3 for device in range(len(FLEET))]


@pytest.mark.parametrize("workers", [None, 1])
def test_a_round_in_which_all_clients_fail_raises(workers: int | None) -> None:
    with pytest.raises(ff.LearnerError, match="all 8 clients of round 1 failed") as raised:
        grid_of(apps.failing, workers=workers).run(apps.server_of(Failing(list(range(8))), [], 2))
    error = raised.value
    assert (error.device, error.round) == (0, 1)
    assert "broken_on_purpose" in error.traceback
    assert workers is not None or isinstance(error.__cause__, ValueError)


def test_a_client_that_kills_its_process_is_an_error() -> None:
    strategy = Failing([], dies=[2])
    grid_of(apps.failing, workers=2).run(apps.server_of(strategy, [], 1))
    (error,) = strategy.errors
    assert "died twice" in error and "SIGKILL" in error


def test_the_number_of_workers_changes_no_byte(tmp_path: Path) -> None:
    found = []
    for workers in (None, 1, 2):
        folder = tmp_path / f"{workers}"
        strategy = FedAvg(fraction_train=0.7, fraction_evaluate=0.0)
        conditions = {"dropout": 0.1, "compute_jitter": 0.2}
        found.append(run(strategy, apps.noisy, workers=workers, out=folder, seed=9, conditions=conditions))
        found[-1] += ((folder / "records.jsonl").read_bytes(),)
    assert found[0] == found[1] == found[2]


def test_records_can_be_opened_and_reported(tmp_path: Path, command: Any) -> None:
    folder = tmp_path / "run"
    run(FedAvg(fraction_train=0.5), out=folder, conditions={"dropout": 0.3}, seed=1)
    opened = ff.open(folder)
    assert (len(opened), opened.devices, opened.scheme) == (5, 8, "custom=flower")
    assert opened.evaluations["loss"][-1] < opened.evaluations["loss"][0]
    assert set(opened.model) == {"0", "1"}
    lost = [line["lost"] for line in records(folder) if line.get("lost")]
    assert lost and lost[0][0]["reason"] == "vanished"
    shown = command("report", str(folder), "--format", "text", "--out", "-")
    assert "custom=flower" in shown and "did not report" in shown
    with pytest.raises(ff.InputError, match="holds a run already"):
        run(FedAvg(), out=folder)


def test_a_server_app_that_fails_leaves_readable_records(tmp_path: Path) -> None:
    class Stops(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            if server_round == 3:
                raise RuntimeError("the server stops")
            return super().aggregate_train(server_round, replies)

    with pytest.raises(RuntimeError, match="the server stops"):
        run(Stops(), out=tmp_path / "run")
    opened = ff.open(tmp_path / "run")
    assert len(opened) == 3 and not opened.ended


def test_apps_by_import_path_and_configuration_by_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.flwr.app.config]\nlr = 0.1\n[tool.flwr.app.config.data]\nkind = "iid"\n'
    )
    grid = grid_of("flower_apps:app", run_config=tmp_path)
    seen: list[Any] = []
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        seen.append(dict(context.run_config))

    grid.run(server)
    assert seen == [{"lr": 0.1, "data.kind": "iid"}]


@pytest.mark.parametrize(
    ("more", "where", "problem"),
    [
        ({"bandwidth_mbps": -1.0}, "fleet.bandwidth_mbps", "-1"),
        ({"conditions": {"drop_out": 0.1}}, "conditions", "drop_out"),
        ({"conditions": {"dropout": 2.0}}, "world.dropout", "2"),
        ({"conditions": 3}, "conditions", "int"),
        ({"payload": "size"}, "payload", "size"),
        ({"workers": 0}, "workers", "0"),
        ({"evaluate_share": -1}, "evaluate_share", "-1"),
        ({"deadline_secs": "soon"}, "round.deadline_secs", "soon"),
        ({"downlink": "pigeon"}, "round.downlink", "pigeon"),
        ({"run_config": {"a": [1]}}, "run_config", "list"),
        ({"run_config": "nowhere"}, "run_config", "nowhere"),
        ({"app": "flower_apps"}, "client_app", "flower_apps"),
        ({"app": "flower_apps:nothing"}, "client_app", "nothing"),
        ({"app": 5}, "client_app", "int"),
    ],
)
def test_wrong_inputs_are_named(more: dict[str, Any], where: str, problem: str) -> None:
    with pytest.raises(ff.InputError) as raised:
        grid_of(**more)
    assert raised.value.where == where
    assert problem in str(raised.value) and raised.value.remedy


def test_wrong_messages_and_older_apps_are_refused() -> None:
    grid = grid_of()
    server = ServerApp()

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        grid.push_messages([Message(RecordDict(), 7, "query")])

    with pytest.raises(ff.InputError, match="there is no node 7"):
        grid.run(server)
    with pytest.raises(ff.InputError, match="server_fn"):
        grid.run(ServerApp(server_fn=lambda context: None))
    with pytest.raises(ff.InputError, match="server_app is int"):
        grid.run(3)


def test_a_client_that_returns_no_message_is_named() -> None:
    app = ClientApp()
    app.train()(lambda message, context: MetricRecord())
    with pytest.raises(ff.LearnerError, match="returned MetricRecord"):
        grid_of(app).run(apps.server_of(FedAvg(), [], 1))


def test_a_strategy_that_waits_for_more_clients_than_there_are_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's strategies look for clients once a second, for ever."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    server = apps.server_of(FedAvg(min_available_nodes=9, fraction_evaluate=0.0), [], 1)
    with pytest.raises(ff.FedflipError, match="the app waits for more clients than the 8 of the VirtualGrid"):
        VirtualGrid(apps.app, FLEET, bandwidth_mbps=2).run(server)
