"""CoinStrategy: coins, weights, lost clients, types, and folders that go on."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import CoinStrategy, VirtualGrid
from fedflip.flower._flwr import identity
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

FLEET = ff.Fleet(
    {"compute_secs": [1.0, 2.0, 3.0, 1.5], "comm_secs": [1.0, 2.0, 1.0, 0.5], "samples": [10, 20, 30, 40]}
)
PLAN = ff.Plan.from_q(FLEET, [0.3, 0.9, 0.5, 0.6], bandwidth_mbps=2)


def run(
    app: Any = apps.app,
    rounds: int = 8,
    conditions: Any = None,
    arrays: Any = None,
    plan: Any = PLAN,
    **more: Any,
) -> tuple[ArrayRecord, float, CoinStrategy]:
    results: list[Any] = []
    fractions = {"fraction_evaluate": 0.0, "seed": 3}
    strategy = CoinStrategy(plan, **{**fractions, **more})
    grid = VirtualGrid(app, plan.fleet, bandwidth_mbps=2, seed=7, conditions=conditions)
    grid.run(apps.server_of(strategy, results, rounds, arrays=arrays))
    return results[0].arrays, grid.now, strategy


def value_of(arrays: ArrayRecord, name: str = "0") -> Any:
    return arrays[name].numpy()


def doubles() -> ArrayRecord:
    """A model that single precision does not hold."""
    return ArrayRecord([np.linspace(0, 1, 5)])


def test_the_sum_is_that_of_the_plan_and_empty_rounds_keep_the_model() -> None:
    rare = ff.Plan.from_q(FLEET, [0.2, 0.3, 0.1, 0.2])
    arrays, _, strategy = run(plan=rare, rounds=20)
    model, empty = apps.first_model()["0"].numpy().astype(np.float64), 0
    for round in range(1, 21):
        cohort = rare.sample(round=round, seed=3).tolist()
        empty += int(len(cohort) == 0)
        step = np.zeros_like(model)
        for device in cohort:
            after = (model.astype(np.float32) + 0.1 * (device - model.astype(np.float32))).astype(np.float32)
            step += FLEET.data_shares[device] / rare.q[device] * (after.astype(np.float64) - model)
        model = (model + step).astype(np.float32).astype(np.float64)
    assert np.array_equal(value_of(arrays), model.astype(np.float32))
    assert 0 < empty < 20 and strategy.lost == {}


def test_no_device_is_too_slow_for_a_virtual_clock_without_a_deadline() -> None:
    slow = ff.Fleet({"compute_secs": [1.0, 4000.0], "comm_secs": [1.0, 1.0], "samples": [10, 10]})
    _, now_secs, strategy = run(plan=ff.plan(slow, bandwidth_mbps=2, scheme="full"), rounds=2)
    assert now_secs > 8000.0 and strategy.lost == {}


def test_participation_is_within_its_confidence_band_over_10000_rounds() -> None:
    strategy = CoinStrategy(PLAN, seed=11)
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2)
    arrays, config, rounds = apps.first_model(), ConfigRecord(), 10_000
    counts = np.zeros(len(FLEET))
    with identity(1):
        for round in range(1, rounds + 1):
            for message in strategy.configure_train(round, arrays, config, grid):
                counts[grid.partitions[message.metadata.dst_node_id]] += 1
    # Four standard errors for each of four devices: one in 4,000 seeds would be outside.
    band = 4 * np.sqrt(PLAN.q * (1 - PLAN.q) / rounds)
    assert np.all(np.abs(counts / rounds - PLAN.q) < band)


def test_the_mean_of_many_rounds_is_unbiased() -> None:
    """The expected step is that of full participation: its mean is within four standard errors."""
    steps = []
    for seed in range(400):
        arrays, _, _ = run(rounds=1, seed=seed, arrays=ArrayRecord([np.zeros(1, np.float64)]))
        steps.append(value_of(arrays)[0])
    full = float(np.sum(FLEET.data_shares * 0.1 * np.arange(4)))
    assert abs(np.mean(steps) - full) < 4 * np.std(steps) / math.sqrt(len(steps))


def test_lost_clients_are_flagged_and_nobody_is_reweighted(tmp_path: Path) -> None:
    arrays, _, _ = run(conditions={"dropout": 0.5}, rounds=10, out=tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if line["type"] == "round"]
    model = apps.first_model()["0"].numpy()
    for line in rounds:
        gone = {lost["device"] for lost in line.get("lost", [])}
        assert all(lost["reason"] == "vanished" for lost in line.get("lost", []))
        step = np.zeros(model.shape)
        for device in (device for device in line["cohort"] if device not in gone):
            after = (model + 0.1 * (device - model)).astype(np.float32)
            step += PLAN.weights[device] * (after.astype(np.float64) - model.astype(np.float64))
        model = (model.astype(np.float64) + step).astype(np.float32)
    assert any(line.get("lost") for line in rounds)
    assert np.array_equal(value_of(arrays), model)
    with pytest.raises(ff.FedflipError, match=r"did not report: \d \(vanished\)"):
        run(conditions={"dropout": 0.5}, rounds=10, on_lost="raise")


def test_clients_that_fail_are_lost_with_the_reason() -> None:
    class Tells(CoinStrategy):
        seen: list[dict[int, str]] = []

        def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
            config["fails"] = [1]
            return super().configure_train(server_round, arrays, config, grid)

        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            found = super().aggregate_train(server_round, replies)
            self.seen.append(dict(self.lost))
            return found

    grid = VirtualGrid(apps.failing, FLEET, bandwidth_mbps=2)
    strategy = Tells(ff.Plan.from_q(FLEET, [1.0] * 4), fraction_evaluate=0.0)
    grid.run(apps.server_of(strategy, [], 2))
    assert strategy.seen == [{1: "failed"}, {1: "failed"}]


def test_arrays_of_any_type_and_number_keep_their_types() -> None:
    full = ff.Plan.from_q(FLEET, [1.0] * 4)
    before = {
        "double": np.array([0.1, 1e-12]),
        "half": np.array([1.0, 2.0], np.float16),
        "complex": np.array([1 + 2j], np.complex64),
        "counter": np.array(5, np.int64),
        "large": np.array([2**60 + 1], np.int64),
        "byte": np.array([250], np.uint8),
        "mask": np.array([True, False]),
        "scalar": np.array(2.0, np.float32),
        "none": np.zeros((0, 3), np.float32),
    }
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        arrays = message.content["arrays"]
        device = context.node_config["partition-id"]
        after = {name: arrays[name].numpy() for name in arrays}
        after["double"] = after["double"] + device
        after["half"] = after["half"] + np.float16(1)
        after["complex"] = after["complex"] * 1j
        after["counter"] = np.asarray(after["counter"] + 10)
        after["byte"] = np.array([255], np.uint8)
        after["mask"] = ~after["mask"]
        from fedflip.flower._model import record_of

        return Message(RecordDict({"arrays": record_of(after)}), reply_to=message)

    from fedflip.flower._model import record_of

    arrays, _, _ = run(app, rounds=1, plan=full, arrays=record_of(before))
    after = {name: array.numpy() for name, array in arrays.items()}
    assert list(after) == list(before)
    assert {name: array.dtype for name, array in after.items()} == {n: a.dtype for n, a in before.items()}
    assert {name: array.shape for name, array in after.items()} == {n: a.shape for n, a in before.items()}
    mean = float(np.sum(FLEET.data_shares * np.arange(4)))
    assert np.allclose(after["double"], before["double"] + mean, rtol=1e-15)
    assert after["half"].tolist() == [2.0, 3.0] and after["complex"][0] == (1 + 2j) * 1j
    assert after["counter"] == 15 and after["large"][0] == 2**60 + 1 and after["byte"].tolist() == [255]
    assert after["mask"].tolist() == [True, False]


@pytest.mark.parametrize(
    "optimiser", ["momentum", "adam", {"optimiser": "yogi", "step": 0.1, "averaging": 0.5}]
)
def test_server_optimisers_are_those_of_scenarios(optimiser: Any) -> None:
    class Mean:
        devices = 4

        def samples(self, device: int) -> int:
            return [10, 20, 30, 40][device]

        def initial(self, seed: int) -> Any:
            return np.zeros(3, np.float32)

        def train(self, model: Any, key: Any) -> Any:
            after = (model + 0.1 * (key.device - model)).astype(np.float32)
            return after - model, 0.0

        def evaluate(self, model: Any) -> Any:
            return {"loss": float(model.mean())}

    keys = {"optimiser": optimiser} if isinstance(optimiser, str) else optimiser
    native = ff.simulate(Mean(), fleet=FLEET, plan=PLAN, seed=3, rounds_max=12, server=keys, progress=False)
    first = ArrayRecord([np.zeros(3, np.float32)])
    arrays, _, _ = run(rounds=12, arrays=first, server_optimiser=optimiser)
    (name,) = native.model
    assert np.allclose(value_of(arrays), native.model[name], rtol=2e-5, atol=1e-7)


def test_evaluation_by_clients_and_by_the_server(tmp_path: Path) -> None:
    results: list[Any] = []
    strategy = CoinStrategy(PLAN, seed=3, fraction_evaluate=0.5, out=tmp_path / "run")
    grid = VirtualGrid(apps.app, FLEET, bandwidth_mbps=2)
    scores = {"evaluate_fn": lambda round, arrays: MetricRecord({"accuracy": round / 10})}
    grid.run(apps.server_of(strategy, results, 4, **scores))
    (result,) = results
    assert list(result.evaluate_metrics_serverapp) == [0, 1, 2, 3, 4]
    assert list(result.evaluate_metrics_clientapp) == [1, 2, 3, 4]
    opened = ff.open(tmp_path / "run")
    assert opened.evaluations["accuracy"].tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert opened.evaluations["client_loss"][-1] == pytest.approx(
        result.evaluate_metrics_clientapp[4]["loss"]
    )
    assert opened.header["expected_participants"] == pytest.approx(2.3)


def test_metrics_without_numbers_of_samples_are_means() -> None:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        metrics = MetricRecord({"loss": float(context.node_config["partition-id"])})
        return Message(RecordDict({"a": message.content["arrays"], "m": metrics}), reply_to=message)

    results: list[Any] = []
    strategy = CoinStrategy(ff.Plan.from_q(FLEET, [1.0] * 4), fraction_evaluate=0.0)
    VirtualGrid(app, FLEET, bandwidth_mbps=2).run(apps.server_of(strategy, results, 1))
    assert results[0].train_metrics_clientapp[1]["loss"] == 1.5


def test_an_update_with_nan_ends_the_run_as_diverged(tmp_path: Path) -> None:
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        (model, other) = message.content["arrays"].to_numpy_ndarrays()
        if message.content["config"]["server-round"] == 3:
            model[0, 0] = np.nan
        return Message(RecordDict({"a": ArrayRecord([model, other])}), reply_to=message)

    with pytest.raises(ff.FedflipError, match="the run diverged: client . .* in round 3"):
        run(app, plan=ff.Plan.from_q(FLEET, [1.0] * 4), out=tmp_path / "run")
    opened = ff.open(tmp_path / "run")
    assert opened.end is not None and (opened.end.reason, len(opened)) == ("diverged", 2)


def test_a_folder_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    """A state in each client, an optimiser, double precision, and more rounds than planned at first."""
    more = {
        "arrays": doubles(),
        "server_optimiser": "adam",
        "conditions": {"dropout": 0.2},
        "checkpoint_secs": 0.0,
    }
    whole, secs, _ = run(apps.noisy, rounds=9, out=tmp_path / "whole", **more)
    run(apps.noisy, rounds=4, out=tmp_path / "part", **more)
    resumed, again, _ = run(apps.noisy, rounds=9, out=tmp_path / "part", resume=True, **more)
    assert apps.digest(resumed) == apps.digest(whole) and again == secs
    for name in ("records.jsonl", "model.safetensors", "fleet.csv", "plan.csv", "run.toml"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "part" / name).read_bytes(), name
    # A run that has ended stays as it is.
    ended, _, _ = run(apps.noisy, rounds=9, out=tmp_path / "part", resume=True, **more)
    assert apps.digest(ended) == apps.digest(whole)


def test_a_run_killed_before_its_last_line_ends_when_it_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last checkpoint has all rounds, so that no round is left."""
    more = {"rounds": 4, "checkpoint_secs": 0.0}
    run(out=tmp_path / "whole", **more)
    with monkeypatch.context() as patched:
        patched.setattr(
            "fedflip.flower._records.RunRecords.end", lambda *_: os.kill(os.getpid(), signal.SIGINT)
        )
        with pytest.raises(KeyboardInterrupt):
            run(out=tmp_path / "run", **more)
    assert not ff.open(tmp_path / "run").ended
    run(out=tmp_path / "run", resume=True, **more)
    for name in ("records.jsonl", "model.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_a_run_that_has_ended_keeps_its_end_under_a_smaller_number_of_rounds(tmp_path: Path) -> None:
    whole, secs, _ = run(rounds=6, out=tmp_path / "run", checkpoint_secs=0.0)
    before = (tmp_path / "run" / "records.jsonl").read_bytes()
    again, at, _ = run(rounds=5, out=tmp_path / "run", checkpoint_secs=0.0, resume=True)
    assert (tmp_path / "run" / "records.jsonl").read_bytes() == before
    assert apps.digest(again) == apps.digest(whole) and at == secs


_KILLED = """
import sys
sys.path.insert(0, {tests!r})
import flower_apps as apps, test_strategy
from pathlib import Path
import time
slow = apps.ClientApp()
@slow.train()
def train(message, context):
    time.sleep(0.02)
    return apps.noisy_train(message, context)
test_strategy.run(slow, rounds=60, arrays=test_strategy.doubles(), out={out!r}, resume=True, checkpoint_secs=0.0)
"""


def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole, _, _ = run(apps.noisy, rounds=60, arrays=doubles(), out=tmp_path / "whole", checkpoint_secs=0.0)
    out = tmp_path / "killed"
    code = _KILLED.format(tests=str(Path(__file__).parent), out=str(out))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(ff.__file__).parents[1]), *sys.path]),
    }
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while not _rounds(out) >= 5:
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 5 <= _rounds(out) < 60
    resumed, _, _ = run(apps.noisy, rounds=60, arrays=doubles(), out=out, resume=True, checkpoint_secs=0.0)
    assert apps.digest(resumed) == apps.digest(whole)
    assert (out / "records.jsonl").read_bytes() == (tmp_path / "whole" / "records.jsonl").read_bytes()


def _rounds(out: Path) -> int:
    try:
        return (out / "records.jsonl").read_text().count('"type":"round"')
    except OSError:
        return 0


def test_another_run_is_not_resumed(tmp_path: Path) -> None:
    run(rounds=2, out=tmp_path / "run")
    with pytest.raises(ff.InputError, match="holds a run already"):
        run(rounds=2, out=tmp_path / "run")
    with pytest.raises(ff.FedflipError, match="seed = 3"):
        run(rounds=4, out=tmp_path / "run", resume=True, seed=4)
    with pytest.raises(ff.FedflipError, match="initial_sha256"):
        run(rounds=4, out=tmp_path / "run", resume=True, arrays=ArrayRecord([np.ones((2, 3), np.float32)]))


def test_the_report_shows_the_run(tmp_path: Path, command: Any) -> None:
    run(out=tmp_path / "run", conditions={"dropout": 0.3})
    shown = command("report", str(tmp_path / "run"), "--format", "text", "--out", "-")
    assert "did not report" in shown and "file=plan.csv" in shown


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"plan": 3}, "plan"),
        ({"on_lost": "ignore"}, "on_lost"),
        ({"resume": True}, "resume"),
        ({"seed": -1}, "seed"),
        ({"server_optimiser": "adamm"}, "server.optimiser"),
        ({"server_optimiser": {"stepp": 1}}, "server_optimiser"),
        ({"server_optimiser": 4}, "server_optimiser"),
        ({"server_optimiser": {"optimiser": "adam", "step": -1.0}}, "server.step"),
        ({"nodes": {5: 17}}, "partition-id"),
        ({"nodes": 3}, "nodes"),
        ({"fraction_evaluate": math.nan}, "fraction_evaluate"),
        ({"fraction_evaluate": 7}, "fraction_evaluate"),
        ({"min_evaluate_nodes": -1}, "min_evaluate_nodes"),
        # Nobody waits for more clients than there are.
        ({"min_available_nodes": 5}, "min_available_nodes"),
        ({"checkpoint_secs": "often"}, "checkpoint_secs"),
        ({"weighted_by_key": 3}, "weighted_by_key"),
        ({"train_metrics_aggr_fn": 3}, "train_metrics_aggr_fn"),
        ({"metrics": "accuracy"}, "metrics"),
        ({"plan": ff.plan(FLEET, bandwidth_mbps=2, scheme="power-of-choice=2")}, "scheme"),
    ],
)
def test_wrong_arguments_are_named(more: dict[str, Any], where: str) -> None:
    with pytest.raises(ff.InputError) as raised:
        CoinStrategy(**{"plan": PLAN, **more})
    assert raised.value.where == where and raised.value.remedy


def test_wrong_arrays_name_their_client() -> None:
    def app(change: Any) -> ClientApp:
        made = ClientApp()

        @made.train()
        def train(message: Message, context: Context) -> Message:
            return Message(change(message.content["arrays"].to_numpy_ndarrays()), reply_to=message)

        return made

    cases = {
        "other arrays than those of the model: it lacks '1'": lambda a: RecordDict({"a": ArrayRecord(a[:1])}),
        "the shape": lambda a: RecordDict({"a": ArrayRecord([a[0].T, a[1]])}),
        "replied with 2 ArrayRecords": lambda a: RecordDict({"a": ArrayRecord(a), "b": ArrayRecord(a)}),
        "has the type <U3": lambda a: RecordDict({"a": ArrayRecord([np.array(["abc"]), a[1]])}),
    }
    for problem, change in cases.items():
        with pytest.raises(ff.InputError, match=r"client \d \(") as raised:
            run(app(change))
        assert problem in str(raised.value)
