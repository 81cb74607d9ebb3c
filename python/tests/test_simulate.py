"""Simulated runs from Python: parity with the CLI, learners, schemes, callbacks, resuming and bad input."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from fedflip import _fedflip
from fedflip._crew import InlineCrew
from learners import Broken, Counting, Named, Quadratic

HERE = Path(__file__).parent


def run(work: Any, **arguments: Any) -> ff.Run:
    return ff.simulate(work, progress=False, **arguments)


def fleet_of(learner: Quadratic) -> ff.Fleet:
    devices = learner.devices
    return ff.Fleet(
        {
            "compute_secs": np.linspace(0.5, 2.0, devices),
            "comm_secs": np.full(devices, 3.0),
            "samples": [float(learner.samples(device)) for device in range(devices)],
        }
    )


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a run folder that the run decides; host.json describes the machine."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name != "host.json"
    }


@pytest.mark.parametrize("scheme", ["auto", "paper", "full", "fedavg=10", "power-of-choice=5", "fedbuff=5"])
def test_a_scenario_writes_the_bytes_of_the_command_line(tmp_path: Path, scheme: str) -> None:
    scenario = ff.Scenario("synthetic", seed=5, rounds_max=12, scheme=scheme)
    run(scenario, out=tmp_path / "python", threads=2)
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    command = [sys.executable, "-m", "fedflip", "run", "s.toml", "--out", "cli", "--threads", "1"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    ours, theirs = files(tmp_path / "python"), files(tmp_path / "cli")
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name] == theirs[name], name


def test_every_scheme_of_the_table_runs_with_a_learner() -> None:
    learner = Quadratic(devices=12)
    for scheme in ["auto", "auto-linear", "exact", "paper", "full", "fixed=0.5", "uniform", "weighted", "fedavg=3",
                   "fedavg-unbiased=3", "multinomial=3", "luo=3", "ocs=3", "power-of-choice=3", "oort=3", "fedbuff=3"]:  # fmt: skip
        assert len(run(learner, plan=scheme, rounds_max=4, seed=1)) == 4, scheme


def test_the_model_is_the_sum_of_weighted_updates() -> None:
    """Full participation in closed form: the engine adds a_n times each update."""
    learner = Quadratic()
    done = run(learner, plan="full", rounds_max=3, seed=9)
    model = learner.initial(9).astype(np.float64)
    for round in range(1, 4):
        updates = [
            learner.train(model.astype(np.float32), ff.TrainKey(9, round, n))[0]
            for n in range(learner.devices)
        ]
        model = model + learner.shares() @ np.array(updates, dtype=np.float64)
    np.testing.assert_allclose(done.model["model"], model, rtol=1e-5)
    assert done.evaluations["loss"][-1] == pytest.approx(
        np.divide(*learner.evaluate(done.model["model"])["loss"]), rel=1e-6
    )


def test_the_bytes_do_not_depend_on_the_workers(tmp_path: Path) -> None:
    learner = Quadratic(devices=20)
    fleet = fleet_of(learner)
    plan = ff.plan(fleet, bandwidth_mbps=10)
    common = {"fleet": fleet, "plan": plan, "rounds_max": 15, "seed": 4}
    run(learner, out=tmp_path / "inline", **common)
    run(learner, out=tmp_path / "one", workers="process", threads=1, **common)
    run(learner, out=tmp_path / "two", workers="process", threads=2, **common)
    assert files(tmp_path / "inline") == files(tmp_path / "one") == files(tmp_path / "two")
    memory = run(learner, **common)
    opened = ff.open(tmp_path / "inline")
    np.testing.assert_array_equal(memory.model["model"], opened.model["model"])
    assert memory.rounds.to_pandas().equals(opened.rounds.to_pandas())


def test_cohorts_are_those_of_the_plan() -> None:
    learner = Quadratic(devices=20)
    plan = ff.plan(fleet_of(learner), bandwidth_mbps=10)
    done = run(learner, plan=plan, rounds_max=30, seed=8)
    cohorts: dict[int, list[int]] = {round: [] for round in range(1, 31)}
    table = done.participants.to_pandas()
    for round, device in zip(table["round"], table["device"], strict=True):
        cohorts[int(round)].append(int(device))
    for round in range(1, 31):
        assert sorted(cohorts[round]) == plan.sample(round=round, seed=8).tolist()


def test_named_tensors_come_back_by_name() -> None:
    flat, named = (
        run(Quadratic(), plan="full", rounds_max=2, seed=2),
        run(Named(), plan="full", rounds_max=2, seed=2),
    )
    assert {name: array.shape for name, array in named.model.items()} == {"a": (3, 1), "b": (2,)}
    np.testing.assert_array_equal(
        np.concatenate([named.model["b"], named.model["a"].ravel()]), flat.model["model"]
    )


def test_a_target_ends_the_run() -> None:
    done = run(Quadratic(), plan="full", stop=ff.Stop("loss", at=6.0), rounds_max=100, seed=1)
    assert done.ended and done.end.reason == "target" and len(done) < 100
    assert done.evaluations["loss"][-1] <= 6.0 < done.evaluations["loss"][-2]
    with pytest.raises(ff.FedflipError, match="bleu"):
        run(Quadratic(), plan="full", stop=ff.Stop("bleu", at=1.0), rounds_max=2)


def test_a_given_plan_is_kept_in_the_folder(tmp_path: Path) -> None:
    learner = Quadratic()
    q = np.linspace(0.2, 1.0, learner.devices)
    plan = ff.Plan.from_q(fleet_of(learner), q, bandwidth_mbps=5)
    done = run(learner, plan=plan, rounds_max=3, seed=1, out=tmp_path / "run")
    np.testing.assert_array_equal(done.q, q)
    assert "plan.csv" in (tmp_path / "run" / "run.toml").read_text()
    assert "bandwidth_mbps = 5" in (tmp_path / "run" / "run.toml").read_text()


def test_a_plan_for_other_samples_is_refused() -> None:
    learner = Quadratic()
    plan = ff.plan(ff.Fleet.paper(6, seed=1), bandwidth_mbps=10)
    with pytest.raises(ff.InputError, match="samples") as raised:
        run(learner, plan=plan)
    assert raised.value.where == "plan"


def own_scheme(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
    cohort = np.random.default_rng([seed, round]).choice(len(fleet), size=2, replace=False)
    return cohort, fleet.data_shares[cohort] * len(fleet) / 2


class Observing:
    """Remembers who took part, and takes the devices with the largest losses afterwards."""

    def __init__(self) -> None:
        self.losses: dict[int, float] = {}

    def begin(self) -> None:
        self.losses = {}

    def observe(self, round: int, devices: Any, losses: Any, alone_secs: Any) -> None:
        assert len(devices) == len(losses) == len(alone_secs)
        self.losses.update(zip(devices.tolist(), losses.tolist(), strict=True))

    def __call__(self, round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        known = sorted(self.losses, key=lambda device: -self.losses[device])[:1]
        cohort = sorted({*known, round % len(fleet)})
        return cohort, np.full(len(cohort), 0.5)


def test_a_scheme_of_ones_own_draws_the_cohorts(tmp_path: Path) -> None:
    learner = Quadratic()
    done = run(learner, plan=own_scheme, rounds_max=6, seed=3, out=tmp_path / "own")
    assert done.scheme == "custom=own_scheme"
    fleet = fleet_of(learner)
    table = done.participants.to_pandas()
    for round in range(1, 7):
        expected = sorted(own_scheme(round, 3, fleet)[0].tolist())
        assert sorted(table["device"][table["round"] == round]) == expected
    # A run that observes is the same whether or not it was interrupted.
    whole = run(
        learner, plan=ff.Scheme(Observing(), name="observing"), rounds_max=8, seed=3, out=tmp_path / "whole"
    )
    scheme = ff.Scheme(Observing(), name="observing")
    stop_at_four = lambda record: record.round == 4  # noqa: E731
    run(learner, plan=scheme, rounds_max=8, seed=3, out=tmp_path / "halves", callbacks=[stop_at_four])
    run(learner, plan=scheme, rounds_max=8, seed=3, out=tmp_path / "halves", resume=True)
    assert files(tmp_path / "halves") == files(tmp_path / "whole")
    assert whole.scheme == "custom=observing"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (([9], [1.0]), "device 9 is outside the fleet of 6"),
        (([1, 1], [1.0, 1.0]), "device 1 occurs twice"),
        (([1], [float("nan")]), "the weight of device 1 is nan"),
        (([1.5], [1.0]), "dtype float64"),
        (([1, 2], [1.0]), "the shape"),
        ([1], "tuple of cohort and weights"),
    ],
)
def test_wrong_cohorts_are_refused(answer: Any, words: str) -> None:
    with pytest.raises(ff.InputError, match=words) as raised:
        run(Quadratic(), plan=ff.Scheme(lambda *_: answer, name="wrong", q=[0.5] * 6), rounds_max=2)
    assert raised.value.where == "draw" and raised.value.remedy


def test_callbacks_see_every_round_and_may_stop(tmp_path: Path) -> None:
    seen: list[ff.RoundRecord] = []
    done = run(
        Quadratic(), plan="full", rounds_max=50, callbacks=[seen.append, lambda record: record.round == 7]
    )
    assert [record.round for record in seen] == list(range(1, 8)) and len(done) == 7 and not done.ended
    assert seen[0].cohort == [0, 1, 2, 3, 4, 5] and "loss" in seen[0].metrics

    def fail(record: ff.RoundRecord) -> None:
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        run(Quadratic(), plan="full", rounds_max=5, callbacks=[fail])
    with pytest.raises(ff.InputError) as raised:
        run(Quadratic(), callbacks=[3])  # type: ignore[list-item]
    assert raised.value.where == "callbacks[0]" and raised.value.value == 3


def test_an_interrupted_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    learner = Quadratic()
    run(learner, plan="fixed=0.5", rounds_max=20, seed=1, out=tmp_path / "whole")
    run(
        learner,
        plan="fixed=0.5",
        rounds_max=20,
        seed=1,
        out=tmp_path / "parts",
        callbacks=[lambda r: r.round == 7],
    )
    with pytest.raises(ff.FedflipError):
        run(learner, plan="fixed=0.5", rounds_max=20, seed=1, out=tmp_path / "parts")
    run(learner, plan="fixed=0.5", rounds_max=20, seed=1, out=tmp_path / "parts", resume=True)
    assert files(tmp_path / "whole") == files(tmp_path / "parts")


@pytest.mark.parametrize("how", ["raise", "shape", "dtype", "mutate"])
@pytest.mark.parametrize("workers", [None, "process"])
def test_a_learner_that_fails_leaves_a_run_that_resumes(
    tmp_path: Path, how: str, workers: str | None
) -> None:
    common: dict[str, Any] = {"plan": "full", "rounds_max": 5, "seed": 1, "workers": workers, "threads": 2}
    with pytest.raises(ff.LearnerError) as raised:
        run(Broken(how), out=tmp_path / "run", **common)
    assert raised.value.round == 3 and raised.value.device is not None and raised.value.remedy
    if how == "raise":
        assert "out of cheese" in str(raised.value)
    run(Quadratic(), out=tmp_path / "run", resume=True, **common)
    run(Quadratic(), out=tmp_path / "whole", **common)
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_a_model_that_diverges_ends_the_run() -> None:
    done = run(Broken("nan"), plan="full", rounds_max=5, seed=1)
    assert done.ended and done.end.reason == "diverged" and "device" in done.end.detail and len(done) == 2


@pytest.mark.parametrize("where", ["train", "evaluate"])
def test_the_end_of_a_diverged_run_is_a_sentence(where: str) -> None:
    class Lost(Quadratic):
        def train(self, model: Any, key: ff.TrainKey) -> Any:
            update, loss = super().train(model, key)
            return update, float("nan") if where == "train" else loss

        def evaluate(self, model: Any) -> Any:
            scores = super().evaluate(model)
            return {**scores, "loss": float("inf")} if where == "evaluate" and np.any(model) else scores

    detail = run(Lost(), plan="full", rounds_max=5, seed=1).end.detail
    expected = {
        "train": "in round 1: the training loss of device 0 is NaN",
        "evaluate": "in round 1: the metric 'loss' is NaN",
    }
    assert detail == expected[where]


def test_callbacks_see_when_a_round_ends() -> None:
    seen: list[Any] = []
    done = run(Quadratic(), plan="full", rounds_max=3, seed=1, callbacks=[seen.append])
    assert [record.secs for record in seen] == pytest.approx(
        [record.start_secs + record.round_secs for record in seen]
    )
    assert seen[-1].secs == pytest.approx(done.end.secs)


def test_arrays_that_are_not_contiguous_are_values() -> None:
    strided, plain = (
        run(Broken("strided"), plan="full", rounds_max=4),
        run(Quadratic(), plan="full", rounds_max=4),
    )
    np.testing.assert_array_equal(strided.model["model"], plain.model["model"])


def test_ctrl_c_in_a_learner_is_a_keyboard_interrupt(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Broken("interrupt"), plan="full", rounds_max=5, seed=1, out=tmp_path / "run")
    assert len(run(Quadratic(), plan="full", rounds_max=5, seed=1, out=tmp_path / "run", resume=True)) == 5


LONG = """
import sys; sys.path.insert(0, {here!r})
import fedflip as ff
from learners import Quadratic
work = {work}
ff.simulate(work, plan="fixed=0.5", rounds_max={rounds}, seed=1, out=sys.argv[1], resume=True, progress=False,
            record={{"checkpoint_secs": 0.05}})
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("work", ["Quadratic()", 'ff.Scenario("synthetic", target_accuracy=1.0)'])
def test_a_killed_process_resumes_to_the_same_bytes(tmp_path: Path, how: signal.Signals, work: str) -> None:
    rounds = 800
    script = LONG.format(here=str(HERE), work=work, rounds=rounds)
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "run")], stderr=subprocess.PIPE)
    records = tmp_path / "run" / "records.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (records.exists() and records.stat().st_size > 10_000):
        time.sleep(0.01)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    if how == signal.SIGINT:
        assert b"KeyboardInterrupt" in errors
    assert 0 < len(ff.open(tmp_path / "run")) < rounds
    for folder in ["run", "whole"]:
        subprocess.run([sys.executable, "-c", script, str(tmp_path / folder)], check=True, timeout=300)
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_bad_arguments_are_named() -> None:
    for arguments, where in [
        ({"workers": "threads"}, "workers"),
        ({"workers": 3}, "workers"),
        ({"fleet": ff.Fleet.paper(7, seed=1)}, "fleet"),
        ({"rounds_mx": 3}, "rounds_mx"),
        ({"plan": 3}, "plan"),
    ]:
        with pytest.raises(ff.InputError) as raised:
            run(Quadratic(), **arguments)  # type: ignore[arg-type]
        assert raised.value.where == where and raised.value.remedy, arguments
    with pytest.raises(ff.InputError) as raised:
        run(ff.Scenario("synthetic"), timeout_secs=3)
    assert raised.value.where == "timeout_secs" and "workers='process'" in raised.value.remedy
    with pytest.raises(ff.InputError) as raised:
        run(ff.Scenario("synthetic"), workers="process", crew=InlineCrew())
    assert raised.value.where == "workers"
    with pytest.raises(ff.InputError, match="devices"):
        run(object())


def test_learner_errors_survive_pickling() -> None:
    with pytest.raises(ff.LearnerError) as raised:
        run(Broken("raise"), plan="full", rounds_max=5)
    again = pickle.loads(pickle.dumps(raised.value))
    expected = (raised.value.device, raised.value.round, raised.value.problem)
    assert (again.device, again.round, again.problem) == expected
    # The cause does not travel, so the text has its traceback.
    assert "out of cheese" in str(again)


def test_runs_of_several_threads_do_not_disturb_each_other() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(seed: int) -> bytes:
        return run(Quadratic(), plan="full", rounds_max=20, seed=seed).model["model"].tobytes()

    expected = [one(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == expected


def test_records_hold_what_the_json_lines_hold(tmp_path: Path) -> None:
    done = run(Quadratic(), plan="full", rounds_max=3, seed=1, out=tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if "cohort" in line]
    assert done.rounds["round"].tolist() == [0, *(line["round"] for line in rounds)] == [0, 1, 2, 3]
    assert os.path.exists(tmp_path / "run" / "initial.safetensors")


def test_a_plan_decides_and_nothing_stands_beside_it() -> None:
    learner = Quadratic()
    plan = ff.plan(fleet_of(learner), bandwidth_mbps=10)
    for arguments, where in [
        ({"bandwidth_mbps": 99}, "fleet.bandwidth_mbps"),
        ({"scheme": "full"}, "plan.scheme"),
        ({"overhead_secs": 1.0}, "round.overhead_secs"),
    ]:
        with pytest.raises(ff.InputError) as raised:
            run(learner, plan=plan, **arguments)  # type: ignore[arg-type]
        assert raised.value.where == where
    costly = ff.plan(
        fleet_of(learner), bandwidth_mbps=10, scheme="full", downlink="unicast", downlink_ratio=50
    )
    with pytest.raises(ff.InputError) as raised:
        run(learner, plan=costly, rounds_max=2)
    assert raised.value.where == "plan" and "downlink" in raised.value.remedy


class Rising(Quadratic):
    """A metric whose name says the opposite of its direction."""

    metrics = {"error_free": "max"}

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {"error_free": 0.0}


def test_the_learner_says_which_way_its_metrics_are_better() -> None:
    done = run(Rising(), plan="full", stop=ff.Stop("error_free", at=0.9), rounds_max=3)
    assert len(done) == 3 and done.end is not None and done.end.reason != "target"


class Waiting(Counting):
    """A metric of one's own, of which nobody says which way it is better."""

    metrics = None  # type: ignore[assignment]

    def evaluate(self, model: Any) -> dict[str, Any]:
        return {"waiting": super().evaluate(model)["loss"]}


@pytest.mark.parametrize(
    "target", [{"stop": ff.Stop("waiting", at=6.0)}, {"metric": "waiting", "at": 6.0}], ids=["Stop", "keys"]
)
def test_a_target_without_a_direction_is_refused_before_the_first_round(target: dict[str, Any]) -> None:
    learner = Waiting()
    with pytest.raises(ff.InputError, match="'waiting'.*larger or smaller") as raised:
        run(learner, plan="full", rounds_max=100, **target)
    assert (raised.value.where, raised.value.value) == ("stop", "waiting")
    for advice in ['mode="min"', 'mode="max"', "metrics = {'waiting': \"min\"}"]:
        assert advice in raised.value.remedy
    assert learner.trained == 0


@pytest.mark.parametrize("how", ["mode", "declared", "key"])
def test_a_target_with_a_direction_ends_the_run(how: str) -> None:
    learner, target = Waiting(), {"stop": ff.Stop("waiting", at=6.0)}
    if how == "mode":
        target = {"stop": ff.Stop("waiting", at=6.0, mode="min")}
    if how == "key":
        target = {"metric": "waiting", "at": 6.0, "mode": "min"}  # type: ignore[dict-item]
    if how == "declared":
        learner.metrics = {"waiting": "min"}  # type: ignore[assignment]
    done = run(learner, plan="full", rounds_max=100, seed=1, **target)
    assert done.end is not None and done.end.reason == "target" and len(done) > 0
    assert done.evaluations["waiting"][-1] <= 6.0 < done.evaluations["waiting"][-2]
    assert done.header["metrics"][0]["better"] == "smaller"


def test_a_misspelt_metric_of_a_learner_that_declares_its_own_is_named() -> None:
    with pytest.raises(ff.FedflipError, match="qualty") as raised:
        run(Rising(), plan="full", stop=ff.Stop("qualty", at=0.9), rounds_max=3)
    assert "error_free" in str(raised.value)


def test_a_target_of_keys_falls_if_the_learner_says_so() -> None:
    """The table of metrics of the native code does not know an mse."""

    class Squares(Waiting):
        def evaluate(self, model: Any) -> dict[str, Any]:
            return {"mse": super().evaluate(model)["waiting"]}

    done = run(Squares(), plan="full", rounds_max=100, seed=1, metric="mse", at=6.0)
    assert len(done) > 0 and done.evaluations["mse"][-1] <= 6.0


class Changing(Quadratic):
    """Returns a metric that was not there before."""

    metrics = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def evaluate(self, model: Any) -> dict[str, Any]:
        self.calls += 1
        return {"loss": 1.0, **({"acc": 0.5} if self.calls > 2 else {})}


def test_metrics_that_appear_later_are_refused() -> None:
    with pytest.raises(ff.FedflipError, match="acc"):
        run(Changing(), plan="full", rounds_max=5)


def test_a_plan_for_the_fleet_of_a_scenario_runs() -> None:
    scenario = ff.Scenario("synthetic", rounds_max=3)
    plan = ff.plan(scenario.fleet(), bandwidth_mbps=50)
    np.testing.assert_array_equal(run(scenario, plan=plan).q, plan.q)
    with pytest.raises(ff.InputError) as raised:
        run(scenario, plan=ff.plan(ff.Fleet.paper(100, seed=7), bandwidth_mbps=50))
    assert raised.value.where == "plan" and "scenario.fleet()" in raised.value.remedy


def test_probabilities_of_a_scheme_are_checked() -> None:
    for q in [[0.0, 0.5], [0.5, float("nan")], [2.0, 0.5], [-1.0, 0.5]]:
        with pytest.raises(ff.InputError) as raised:
            ff.Scheme(own_scheme, q=q)
        assert str(raised.value.where).startswith("q[")


def test_warnings_do_not_name_a_file_for_a_fleet_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learner = Quadratic()
    other = ff.Fleet({**fleet_of(learner).columns(), "samples": [1.0] * learner.devices})
    replaced = f"the sample counts of {learner.devices} devices are replaced by those of the data"
    run(learner, fleet=other, plan="full", rounds_max=1)
    assert f"the fleet: {replaced}" in caplog.messages
    other.to_csv(tmp_path / "mine.csv")
    (tmp_path / "s.toml").write_text('[task]\nname = "synthetic"\n[fleet]\nfile = "mine.csv"\n')
    caplog.clear()
    run(ff.Scenario(tmp_path / "s.toml"), plan="full", rounds_max=1)
    assert any(text.startswith("mine.csv: the sample counts") for text in caplog.messages)


class Glancing:
    """A spectator that sees a round now and then, as a progress bar does."""

    sees_all = False

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *words: self.calls.append((name, *words))


def test_a_spectator_sees_the_last_round_before_the_end() -> None:
    spectator = Glancing()
    native = ff.Scenario("synthetic", scheme="full", rounds_max=9)._resolved
    _fedflip.simulate(native, _fedflip.Options(spectator))
    rounds = [json.loads(call[1])["round"] for call in spectator.calls if call[0] == "round"]
    assert rounds[0] == 1 and rounds[-1] == 9 and rounds == sorted(set(rounds))
    assert [call[0] for call in spectator.calls[-2:]] == ["round", "end"]
