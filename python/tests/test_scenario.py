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


def test_stops_are_checked() -> None:
    assert (
        ff.Stop("f1", at=1).keys({})["mode"] == "max"
        and ff.Stop("perplexity", at=20).keys({})["mode"] == "min"
    )
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
