"""Deployed runs that go wrong: learners that fail, identities that are refused, evaluations and bad input."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from deployment import (
    Devices,
    Line,
    external,
    mse,
    records,
    rounds,
)

pytestmark = pytest.mark.deployed


# ---- learners that fail


@pytest.mark.parametrize("fails", ["raise", "nan", "shape", "dtype", "loss", "hang"])
def test_a_learner_that_fails_harms_nobody_else(
    tmp_path: Path, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    devices = Devices(
        {"learner": Line(0)},
        {"learner": Line(1)},
        {
            "learner": Line(2, fails=fails),
            "on_error": "report",
            "timeout_secs": 0.3 if fails == "hang" else None,
        },
    )
    with caplog.at_level(logging.INFO, "fedflip"):
        ff.serve(**external(tmp_path / "run", ready=devices))
    first, second, third = devices.joined()
    assert records(tmp_path / "run")[-1]["reason"] == "target"
    done = rounds(tmp_path / "run")
    assert (
        (first.finished, first.rounds, first.failures)
        == (True, len(done), 0)
        == (second.finished, second.rounds, 0)
    )
    assert third.finished and third.rounds == 2 and third.failures > 0
    lost = [line["lost"] for line in done if line.get("lost")]
    assert lost and {each["device"] for line in lost for each in line} == {third.slot}
    assert all(not line.get("lost") for line in done[:2])
    assert any("cannot take part" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("fails", ["raise", "nan", "shape"])
def test_the_exception_of_a_learner_reaches_its_caller(tmp_path: Path, fails: str) -> None:
    devices = Devices({"learner": Line(0)}, {"learner": Line(1)}, {"learner": Line(2, fails=fails)})
    ff.serve(**external(tmp_path / "run", ready=devices, quorum=0.5))
    first, second, error = devices.joined()
    assert records(tmp_path / "run")[-1]["reason"] == "target"
    assert first.finished and second.finished
    assert isinstance(error, ff.LearnerError)
    assert (error.device, error.round) == (0, 3)
    if fails == "raise":
        assert isinstance(error.__cause__, RuntimeError) or "out of cheese" in error.traceback
        assert "out of cheese" in str(error)


def test_a_learner_that_fails_before_its_first_round_is_told_at_once(tmp_path: Path) -> None:
    class Never(Line):
        def train(self, model: Any, key: Any) -> Any:
            raise RuntimeError("no graphics card")

    def broken(settings: dict[str, Any]) -> Line:
        raise OSError(f"no file for rate {settings['rate']}")

    class Other(Line):
        def initial(self, seed: int) -> Any:
            return {"w": np.zeros((2, 2), np.float32), "bias": np.zeros(1, np.float32)}

    mine = tmp_path / "mine.csv"
    mine.write_text("x,label\n1,0\n")
    until = threading.Event()
    devices = Devices(
        {"learner": Never(0)},
        {"learner": broken},
        {"learner": Other(0)},
        {"data": mine},
        {"learner": lambda settings: Line(0), "device": 1},
    )

    def ready(at: Any) -> None:
        devices(at)
        threading.Thread(target=lambda: (devices.joined(), until.set())).start()

    with pytest.raises(ff.FedflipError, match="before the first plan"):
        ff.serve(**external(tmp_path / "run", ready=ready, until=until))
    never, made, other, native, absent = devices.results
    assert isinstance(never, ff.LearnerError) and "no graphics card" in str(never)
    assert isinstance(made, ff.LearnerError) and "no file for rate 0.1" in str(made)
    assert isinstance(made.__cause__, OSError)
    assert isinstance(other, ff.InputError) and other.where == "learner"
    assert other.value == [("bias", (1,)), ("w", (2, 2))]
    for part in ["the learner has no 'b'", "learner: bias [1], w [2, 2]", "server:  b [1], w [2, 1]"]:
        assert part in str(other), other
    assert isinstance(native, ff.InputError) and native.where == "learner"
    assert isinstance(absent, ff.InputError) and (absent.where, absent.value) == ("device", 1)
    assert "data of 1 device" in absent.problem and "device=0" in absent.remedy


# ---- certificates


def test_revoked_expired_and_foreign_identities_stay_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = ff.certs.create(tmp_path / "certs")
    lost, good = authority.issue("lost", "good")
    authority.revoke("lost")
    now = ff.certs._now()
    monkeypatch.setattr(ff.certs, "_now", lambda: now - 10 * 86_400)
    (expired,) = authority.issue("expired", days=1)
    monkeypatch.undo()
    (stranger,) = ff.certs.create(tmp_path / "others").issue("good")
    devices = Devices(
        {"identity": lost, "learner": Line(0), "give_up_secs": 5},
        {"identity": expired, "learner": Line(0)},
        {"identity": stranger, "learner": Line(0), "give_up_secs": 5},
        {"insecure": True, "name": "plain", "identity": None, "learner": Line(0), "give_up_secs": 1},
        {"identity": good, "learner": Line(0)},
    )
    arguments = external(tmp_path / "run", devices=1, insecure=False, certs=authority, ready=devices)
    ff.serve(**arguments)
    revoked, old, foreign, plain, admitted = devices.joined()
    assert admitted.finished and admitted.rounds > 0
    assert isinstance(revoked, ff.FedflipError)
    assert isinstance(old, ff.InputError) and old.where == "identity" and "has expired" in str(old)
    assert isinstance(foreign, ff.FedflipError) and "not of this device's authority" in str(foreign)
    assert isinstance(plain, ff.FedflipError)


# ---- evaluation, resuming, callbacks


def test_an_evaluation_that_fails_leaves_the_run_resumable(tmp_path: Path) -> None:
    out, calls = tmp_path / "run", []

    def fails(model: dict[str, Any]) -> dict[str, float]:
        calls.append(threading.current_thread())
        assert list(model) == ["b", "w"] and model["w"].shape == (2, 1) and not model["w"].flags.writeable
        if len(calls) == 4:
            raise ZeroDivisionError("no samples")
        return mse(model)

    stop = threading.Event()
    devices = Devices({"learner": Line(0), "stop": stop})
    with pytest.raises(ff.LearnerError, match="no samples") as caught:
        ff.serve(**external(out, devices=1, evaluate=fails, ready=devices))
    stop.set()
    assert not devices.joined()[0].finished
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert set(calls) == {threading.main_thread()}
    assert len(rounds(out)) == 2
    # The first model need not be made again: the run keeps its own.
    other = {"w": np.ones((2, 1), np.float32), "b": np.ones(1, np.float32)}
    devices = Devices({"learner": Line(0)})
    ff.serve(**external(out, devices=1, initial=other, ready=devices))
    assert records(out)[-1]["reason"] == "target" and devices.joined()[0].finished
    evaluated = [line["metrics"]["mse"] for line in rounds(out)]
    assert evaluated[-1] <= 1e-3 < evaluated[-2]
    with pytest.raises(ff.InputError, match="other tensors") as refused:
        ff.serve(**external(out, devices=1, initial={"w": np.zeros(3, np.float32)}))
    assert refused.value.where == "initial"


def test_a_learner_makes_the_first_model_and_evaluates(tmp_path: Path) -> None:
    class Seeded(Line):
        def initial(self, seed: int) -> Any:
            generator = np.random.default_rng(seed)
            return {"w": generator.normal(size=(2, 1)).astype(np.float32), "b": np.zeros(1, np.float32)}

    devices = Devices({"learner": Line(0), "save_model": tmp_path / "kept.safetensors"})
    out = tmp_path / "run"
    ff.serve(**external(out, devices=1, initial=Seeded(7), evaluate=None, seed=5, ready=devices))
    assert devices.joined()[0].finished
    first = next(line for line in records(out) if line["type"] == "initial")
    learner = Seeded(7)
    total, weight = learner.evaluate(learner.initial(5))["mse"]
    assert first["metrics"]["mse"] == pytest.approx(total / weight)
    assert (tmp_path / "kept.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_callbacks_see_rounds_and_stop_a_server(tmp_path: Path) -> None:
    seen: list[int] = []
    out = tmp_path / "run"
    devices = Devices({"learner": Line(0)})
    stop = threading.Event()
    devices.devices[0]["stop"] = stop
    ff.serve(
        **external(
            out,
            devices=1,
            ready=devices,
            callbacks=[lambda record: seen.append(record.round) or record.round == 4],
        )
    )
    assert seen == [1, 2, 3, 4] and len(rounds(out)) == 4
    stop.set()
    (left,) = devices.joined()
    assert left == ff.Farewell(finished=False, slot=0, rounds=4, failures=0)


def test_an_evaluation_without_a_target_and_a_target_without_an_evaluation(tmp_path: Path) -> None:
    devices = Devices({"learner": Line(0)})
    ff.serve(**external(tmp_path / "run", devices=1, stop=None, rounds_max=3, ready=devices))
    assert [len(line["metrics"]) for line in rounds(tmp_path / "run")] == [1, 1, 1]
    devices.joined()
    devices = Devices({"learner": Line(0)})
    ff.serve(**external(tmp_path / "quiet", devices=1, stop=None, rounds_max=3, evaluate=None, ready=devices))
    assert [line.get("metrics", {}) for line in rounds(tmp_path / "quiet")] == [{}, {}, {}]
    devices.joined()


# ---- bad input


def test_refusals_of_a_server_name_the_argument(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    out = tmp_path / "run"
    cases: list[tuple[dict[str, Any], str, Any, str]] = [
        ({"evaluate": None}, "evaluate", "mse", "evaluate="),
        ({"evaluate": lambda model: {"mae": 1.0}}, "stop.metric", "mse", "mae"),
        ({"evaluate": 3}, "evaluate", 3, "a function"),
        ({"stop": ff.Stop("waiting", at=1)}, "stop", "waiting", 'mode="min"'),
        ({"update_norm_max": None}, "server.update_norm_max", None, "update_norm_max = NUMBER"),
        ({"initial": {"w": np.zeros(2)}}, "initial", None, "float32"),
        ({"initial": {"w": np.array([np.nan], np.float32)}}, "initial", ["w"], "initialisation"),
        ({"initial": 7}, "initial", 7, "dict of float32 arrays"),
        ({"address": "nowhere"}, "address", "nowhere", "ADDRESS:PORT"),
        ({"address": "0.0.0.0:0"}, "address", "0.0.0.0:0", "127.0.0.1"),
        ({"insecure": False}, "certs", "certs", "certs.create"),
        ({"certs": "there"}, "certs", "there", "leave one"),
        ({"devices_min": 4}, "devices_min", 4.0, "from 1 to"),
        ({"devices_min": -1}, "devices_min", -1, "whole number"),
        ({"quorum": 2.0}, "quorum", 2.0, "a share"),
        ({"quorum": "half"}, "quorum", "half", "a number"),
        ({"window_secs": 0.0}, "window_secs", 0.0, "seconds"),
        ({"scheme": "fedavg=2"}, "plan.scheme", "fedavg=2", "coins"),
        ({"out": tmp_path / "full"}, "out", str(tmp_path / "full"), "new folder"),
        ({"metrics": "0.0.0.0:0"}, "metrics", "0.0.0.0:0", "metrics_public"),
        ({"scenario": 3}, "scenario", 3, "name a task"),
        ({"pilots": True}, "pilots", None, "auto"),
        ({"dashboard": "nowhere"}, "dashboard", "nowhere", "HOST:PORT"),
        ({"dashboard": "0.0.0.0:0"}, "dashboard", "0.0.0.0:0", ""),
    ]
    if Path("certs").exists():
        cases = [case for case in cases if "insecure" not in case[0]]
    for change, where, value, remedy in cases:
        with pytest.raises(ff.InputError) as caught:
            ff.serve(**external(out, **change))
        error = caught.value
        assert error.where == where, (change, error.where, str(error))
        if value is not None:
            assert error.value == value, (change, error.value)
        assert remedy in error.remedy or remedy in str(error), (change, error.remedy)
        assert not out.exists(), change
    with pytest.raises(ff.InputError, match="update_norm_max|norm"):
        ff.serve(**external(out, update_norm_max=-1))


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    devices = Devices({"learner": Line(0)})
    ff.serve(**external(out, devices=1, stop=None, rounds_max=1, ready=devices))
    devices.joined()
    with pytest.raises(ff.InputError) as caught:
        ff.serve(**external(out, devices=1, seed=77, stop=None, rounds_max=1))
    assert caught.value.where == "out" and "seed" in str(caught.value)


def test_refusals_of_a_device_name_the_argument(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"insecure": True, "name": "phone"}
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str, Any, str]] = [
        (("127.0.0.1:9",), {}, "identity", None, "insecure=True"),
        (("127.0.0.1:9",), {"insecure": True}, "name", None, "phone-01"),
        (("127.0.0.1:9",), {"insecure": True, "name": "a b"}, "name", "a b", "letters"),
        (("127.0.0.1:9",), {"identity": tmp_path, **plain}, "insecure", True, "leave insecure out"),
        (("127.0.0.1:9",), {"identity": tmp_path}, "identity", str(tmp_path), "fedflip.certs"),
        (("nowhere",), plain, "address", "nowhere", "HOST:PORT"),
        ((7,), plain, "address", 7, "HOST:PORT"),
        (("192.0.2.1:80",), plain, "address", "192.0.2.1:80", "127.0.0.1"),
        (("127.0.0.1:9",), {**plain, "compute_secs": -1}, "compute_secs", -1.0, "from 0"),
        (("127.0.0.1:9",), {**plain, "give_up_secs": "soon"}, "give_up_secs", "soon", "seconds"),
        (("127.0.0.1:9",), {**plain, "save_model": tmp_path}, "save_model", str(tmp_path), "a file"),
        (("127.0.0.1:9",), {**plain, "learner": Line}, "learner", Line, "make an instance"),
        (("127.0.0.1:9",), {**plain, "learner": 3}, "learner", 3, "attributes and methods"),
        (("127.0.0.1:9",), {**plain, "learner": Line(0), "data": "x.npz"}, "data", ["x.npz"], "leave one"),
        (("127.0.0.1:9",), {**plain, "on_error": "ignore"}, "on_error", "ignore", "'report'"),
    ]
    for words, arguments, where, value, remedy in cases:
        with pytest.raises(ff.InputError) as caught:
            ff.join(*words, **arguments)
        error = caught.value
        assert (error.where, error.value) == (where, value), error
        assert remedy in error.remedy, (arguments, error.remedy)


def test_a_server_that_is_not_there_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    start = time.monotonic()
    with caplog.at_level(logging.INFO, "fedflip"), pytest.raises(ff.FedflipError, match="cannot be reached"):
        ff.join("127.0.0.1:9", insecure=True, name="phone", give_up_secs=0.3)
    assert time.monotonic() - start < 5
    joining = next(record for record in caplog.records if record.getMessage().startswith("joining"))
    assert (joining.name, joining.levelno) == ("fedflip", logging.INFO)
    assert joining.event == "joining" and joining.fields["device"] == "phone"  # type: ignore[attr-defined]


def test_an_event_stops_a_device_that_waits() -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    left = ff.join("127.0.0.1:9", insecure=True, name="phone", stop=stop)
    assert left == ff.Farewell(finished=False, slot=None, rounds=0, failures=0)
