"""Scenarios from keyword arguments."""

from __future__ import annotations

import pickle
from pathlib import Path

import fedflip as ff
import numpy as np
import pytest


def test_keys_are_found_by_name_section_and_path() -> None:
    scenario = ff.Scenario("synthetic", seed=7, rounds_max=9, train={"batch": 8}, stop__virtual_hours_max=2.5)
    assert scenario["seed"] == 7 and scenario["stop.rounds_max"] == 9
    assert scenario["train.batch"] == 8 and scenario["stop.virtual_hours_max"] == 2.5
    assert scenario.task == "synthetic" and scenario.devices == 100


def test_the_last_value_counts_and_the_first_scenario_stays() -> None:
    first = ff.Scenario("synthetic", bandwidth_mbps=50)
    other = first.with_keys(bandwidth_mbps=np.float64(20), scheme="full")
    assert (first["fleet.bandwidth_mbps"], other["fleet.bandwidth_mbps"]) == (50, 20)
    assert first != other and first == ff.Scenario("synthetic", bandwidth_mbps=50.0)


def test_a_file_reads_back(tmp_path: Path) -> None:
    scenario = ff.Scenario("synthetic", seed=3, scheme="paper", types=["xiaomi-12s"])
    path = tmp_path / "s.toml"
    path.write_text(scenario.to_toml())
    assert ff.Scenario(path).to_toml() == ff.Scenario(str(path)).to_toml() == scenario.to_toml()
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert "synthetic" in repr(scenario) and "<pre>" in scenario._repr_html_()


@pytest.mark.parametrize(
    ("keys", "where", "remedy"),
    [
        ({"bandwith_mbps": 3}, "bandwith_mbps", "bandwidth_mbps"),
        ({"momentum": 0.5}, "momentum", "train={'momentum': …} or server={'momentum': …}"),
        ({"rounds_max": object()}, "rounds_max", "number"),
    ],
)
def test_unknown_and_ambiguous_keys(keys: dict[str, object], where: str, remedy: str) -> None:
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario("synthetic", **keys)
    assert raised.value.where == where and remedy in raised.value.remedy


def test_values_are_checked_at_once() -> None:
    with pytest.raises(ff.InputError, match="rounds_max"):
        ff.Scenario("synthetic", rounds_max=0)
    with pytest.raises(ff.InputError, match="sinthetic"):
        ff.Scenario("sinthetic")
    with pytest.raises(ff.InputError, match="no-such.toml"):
        ff.Scenario("no-such.toml")
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario(3)  # type: ignore[arg-type]
    assert raised.value.where == "task_or_path"
    with pytest.raises(ff.InputError, match="batsh"):
        ff.Scenario("synthetic")["train.batsh"]


def test_errors_about_keys_have_the_value(tmp_path: Path) -> None:
    batch = np.int64(-3)
    cases: list[tuple[dict[str, object], str, object]] = [
        ({"seed": -1}, "seed", -1),
        ({"seed": 1.5}, "seed", 1.5),
        ({"train": {"batch": batch}}, "train.batch", batch),
        ({"rounds_max": None, "seed": 3}, "stop.rounds_max", None),
        ({"scheme": "exat"}, "plan.scheme", "exat"),
        ({"types": ["nobody"]}, "fleet.types", ["nobody"]),
        ({"train": {"batsh": 7}}, "train.batsh", 7),
        ({"concentration": 0.5}, "data.concentration", 0.5),
        ({"epochs": 2, "iterations": 3}, "train.epochs", 2),
    ]
    for keys, where, value in cases:
        for make in (
            ff.Scenario,
            lambda task, **keys: ff.simulate(ff.Scenario(task), progress=False, **keys),
        ):
            with pytest.raises(ff.InputError) as raised:
                make("synthetic", **keys)
            assert (raised.value.where, raised.value.value) == (where, value), str(raised.value)
            assert type(raised.value.value) is type(value)
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario("sinthetic")
    assert (raised.value.where, raised.value.value) == ("task.name", "sinthetic")
    # The last value counts, and of a key that nobody sets the value in the file.
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario("synthetic", seed=5).with_keys(seed=-2)
    assert raised.value.value == -2
    path = tmp_path / "s.toml"
    path.write_text('[task]\nname = "synthetic"\n[train]\nbatch = 0\n')
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario(path, seed=5)
    assert (raised.value.where, raised.value.value) == ("train.batch", 0)
    assert f"{path}, line 4" in raised.value.problem
    path.write_text("[task\n")
    with pytest.raises(ff.InputError) as raised:
        ff.Scenario(path)
    assert raised.value.where == f"{path}, line 1" and raised.value.value == str(path)


def test_stops_are_checked() -> None:
    assert (
        ff.Stop("f1", at=1).keys({})["mode"] == "max"
        and ff.Stop("perplexity", at=20).keys({})["mode"] == "min"
    )
    with pytest.raises(ff.InputError) as raised:
        ff.Stop("waiting", at=1).keys({})
    assert raised.value.where == "stop" and "mode=" in raised.value.remedy
    assert ff.Stop("waiting", at=1, mode="min").keys({})["mode"] == "min"
    assert ff.Stop("error_free", at=1).keys({"error_free": "max"})["mode"] == "max"
    with pytest.raises(ff.InputError) as raised:
        ff.Stop("bleu", at=1, mode="min").keys({"bleu": "max"})
    assert raised.value.where == "mode"
    for arguments, where in [
        (("", 1.0), "metric"),
        (("loss", float("nan")), "at"),
        (("loss", 1.0, "up"), "mode"),
    ]:
        with pytest.raises(ff.InputError) as raised:
            ff.Stop(*arguments)
        assert raised.value.where == where
