"""Sweeps from Python: the files of the command line, one training for many clocks, resuming, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from conftest import CommandLine
from learners import Broken, Counting, Quadratic


def sweep(work: Any, **arguments: Any) -> ff.Sweep:
    return ff.sweep(work, **{"progress": False, **arguments})


def all_files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; host.json describes the machine."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "host.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


#: A sweep of a learner that takes a fraction of a second.
QUICK: dict[str, Any] = {"seeds": 1, "stop": ff.Stop("loss", at=6.5), "rounds_max": 60, "seed": 4}


SCENARIO = """
seed = 2
preset = "paper"
[task]
name = "synthetic"
hidden = 8
[fleet]
devices = 20
[stop]
target_accuracy = 0.4
[pilot]
loss = 1.5
seeds = 1
"""


@pytest.mark.parametrize(
    ("over", "flags"),
    [
        ({"bandwidth_mbps": [20, 2000]}, ["fleet.bandwidth_mbps=20,2000"]),
        # A text, a number that is not whole, and keys that change more than the clock.
        (
            {"round.downlink": ["none", "broadcast"], "dropout": (0.0, 0.25)},
            ["round.downlink=none,broadcast", "world.dropout=0.0,0.25"],
        ),
    ],
)
def test_a_sweep_writes_the_bytes_of_the_command_line(
    tmp_path: Path, command: CommandLine, over: dict[str, Any], flags: list[str]
) -> None:
    # Keys that the file leaves out follow others, at each point.
    (tmp_path / "s.toml").write_text(SCENARIO)
    scenario = ff.Scenario(tmp_path / "s.toml")
    found = sweep(scenario, over=over, schemes=["exact", "full"], seeds=1, out=tmp_path / "python")
    words = [word for flag in flags for word in ("--over", flag)]
    command(
        "sweep", "s.toml", "--schemes", "exact,full", "--seeds", "1", "--out", "cli", *words, cwd=tmp_path
    )
    ours, theirs = all_files(tmp_path / "python"), all_files(tmp_path / "cli")
    assert "sweep.json" in ours and ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name] == theirs[name], name
    # Points have the caller's names of keys, and folders those of scenarios.
    assert [list(at) for at, _ in found] == [list(over)] * len(found)
    assert all((comparison.folder / "compare.json").is_file() for _, comparison in found)
    assert found.result["points"][0]["comparison"] == found.points[0][1].result


def test_one_training_serves_all_clocks_of_a_learner(tmp_path: Path) -> None:
    one, three = Counting(), Counting()
    sweep(one, over={"bandwidth_mbps": [1]}, schemes=["full", "fedavg=3"], **QUICK)
    found = sweep(
        three,
        over={"bandwidth_mbps": [1, 10, 100]},
        schemes=["full", "fedavg=3"],
        out=tmp_path / "sweep",
        **QUICK,
    )
    assert one.trained == three.trained > 0 and found.retimed == 4
    # A comparison from scratch writes the same as a retimed one.
    ff.compare(
        Quadratic(),
        schemes=["full", "fedavg=3"],
        bandwidth_mbps=100,
        out=tmp_path / "alone",
        progress=False,
        **QUICK,
    )
    retimed = all_files(tmp_path / "sweep" / "fleet.bandwidth_mbps=100")
    alone = all_files(tmp_path / "alone")
    written = [name for name in alone if "checkpoint" not in name and not name.endswith(".lock")]
    assert any(name.endswith("records.jsonl") for name in written)
    for name in written:
        assert retimed[name] == alone[name], name
    # Other keys decide what is trained.
    batches = Counting()
    found = sweep(batches, over={"dropout": [0.0, 0.2]}, schemes=["full"], **QUICK)
    assert found.retimed == 0 and len(found.rows) == 2


def test_a_scheme_of_ones_own_sees_the_fleet_of_each_point() -> None:
    seen: list[float] = []

    def slowest_first(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        cohort = np.argsort(fleet.comm_secs)[-3:]
        # Weights that depend on the clock: such a run cannot be retimed.
        return cohort, fleet.data_shares[cohort] * min(2.0, float(fleet.comm_secs[0]))

    class Planned:
        """Notes the fleet from which its q is planned."""

        def __call__(self, round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
            seen.append(float(fleet.comm_secs[0]))
            return np.arange(len(fleet)), fleet.data_shares

    learner = Counting()
    found = sweep(
        learner, over={"payload_mbit": [1.0, 3.0]}, schemes=["full", slowest_first, ff.Scheme(Planned(), name="planned")],
        **QUICK,
    )  # fmt: skip
    assert found.points[0][1].schemes == ["full", "custom=slowest_first", "custom=planned"]
    fleets = sorted(set(seen))
    assert len(fleets) == 2 and fleets[1] == pytest.approx(3 * fleets[0])
    # Both points plan with their own fleets: they have as many calls as each other, and the first point has all of its first.
    assert seen == sorted(seen) and seen.count(fleets[0]) == seen.count(fleets[1])
    assert found.retimed == 1


def test_an_interrupted_sweep_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "over": {"bandwidth_mbps": [1, 100]}, "schemes": ["auto", "full"], "pilots": False, **QUICK,
    }  # fmt: skip
    whole = sweep(Quadratic(), out=tmp_path / "whole", **arguments)
    rounds = sum(len(run) for _, comparison in whole for run in comparison.runs[:1])
    seen: list[int] = []

    def stop(record: ff.RoundRecord) -> bool:
        seen.append(record.round)
        return len(seen) == rounds

    with pytest.raises(ff.FedflipError, match="callback") as raised:
        sweep(Quadratic(), out=tmp_path / "parts", callbacks=[stop], **arguments)
    assert "resume=True" in raised.value.remedy and not (tmp_path / "parts" / "sweep.json").exists()
    with pytest.raises(ff.FedflipError, match="already"):
        sweep(Quadratic(), out=tmp_path / "parts", **arguments)
    resumed = sweep(Quadratic(), out=tmp_path / "parts", resume=True, **arguments)
    assert resumed.result == whole.result
    whole_files, parts = all_files(tmp_path / "whole"), all_files(tmp_path / "parts")
    kept = {name for name in whole_files if "checkpoint" not in name}
    assert kept == {name for name in parts if "checkpoint" not in name}
    assert all(parts[name] == whole_files[name] for name in kept)


def test_all_points_are_checked_before_the_first_one_trains(tmp_path: Path) -> None:
    learner = Counting()
    for over, words, where in [
        ({"bandwidth_mbps": [10, -1]}, "fleet.bandwidth_mbps: -1 is out of range", "fleet.bandwidth_mbps"),
        ({"bandwidth_mbps": [10, "fast"]}, 'fleet.bandwidth_mbps: "fast"', "fleet.bandwidth_mbps"),
        ({"fleet.devices": [6, 7]}, "fleet.devices=7: ", "over"),
        ({"stop.metric": ["loss", "bleu"]}, "stop.metric=bleu: .*bleu", "stop"),
        ({"bandwidth_mbps": [1, 2, 1.0]}, "1 and 1.0 are the same", "over"),
        ({"scheme": ["auto", "full"]}, "compares schemes", "over"),
        ({"variance": [0.1, 0.2]}, "auto alone", "over"),
        ({"server.step": [0.5, 0.6]}, "all points would be the same", "over"),
        ({"bandwith_mbps": [1]}, "no key 'bandwith_mbps'", "bandwith_mbps"),
        ({"train": [{"batch": 3}]}, "'train', which is a section", "over"),
        ({"fleet": [ff.Fleet.paper(6, seed=1)]}, "'fleet', which is a section", "over"),
        ({"bandwidth_mbps": 3}, "3 is not a list of values", "over['bandwidth_mbps']"),
        ({"rounds_max": [10, 20]}, "both an argument and an axis", "rounds_max"),
        ({"stop.rounds_max": [10, 20]}, "both an argument and an axis", "stop.rounds_max"),
        ([1, 2], "not a dict of keys", "over"),
    ]:
        with pytest.raises(ff.InputError, match=words) as raised:
            sweep(learner, over=over, schemes=["full"], out=tmp_path / "out", **QUICK)
        assert raised.value.where == where and raised.value.remedy, over
    with pytest.raises(ff.InputError, match="fleet.file is both"):
        sweep(learner, over={"fleet.file": ["a.csv", "b.csv"]}, fleet=ff.Fleet.paper(6, seed=1), **QUICK)
    without_seed = {name: value for name, value in QUICK.items() if name != "seed"}
    with pytest.raises(ff.InputError, match="several seeds") as raised:
        sweep(learner, over={"seed": [1, 2]}, schemes=["full"], out=tmp_path / "out", **without_seed)
    assert "seeds=" in raised.value.remedy
    assert learner.trained == 0 and not (tmp_path / "out").exists()


def test_errors_of_a_point_name_it() -> None:
    learner, begun = Broken("raise", round=10**9), []

    def break_at_second_point(record: ff.RoundRecord) -> None:
        begun.extend([record] if record.round == 1 else [])
        learner.round = 2 if len(begun) == 2 else 10**9

    with pytest.raises(ff.LearnerError, match="out of cheese") as raised:
        sweep(learner, over={"dropout": [0.0, 0.2], "bandwidth_mbps": [7]}, schemes=["full"],
              callbacks=[break_at_second_point], **QUICK)  # fmt: skip
    assert raised.value.__notes__ == ["at world.dropout=0.2, fleet.bandwidth_mbps=7 of the sweep"]

    def broken(round: int, seed: int, fleet: ff.Fleet) -> tuple[Any, Any]:
        raise RuntimeError("no cohort")

    with pytest.raises(RuntimeError, match="no cohort") as of_scheme:
        sweep(Quadratic(), over={"payload_mbit": [1.0, 2.0]}, schemes=[broken], **QUICK)
    assert of_scheme.value.__notes__ == ["at fleet.payload_mbit=1.0 of the sweep"]
    # What is no exception of Python code has the point in its message.
    with pytest.raises(ff.InputError, match="bandwidth_mbps=3: .*target") as refused:
        sweep(Quadratic(), over={"bandwidth_mbps": [3]}, schemes=["full"], seeds=1)
    assert refused.value.where == "stop"


def test_a_point_without_a_comparison_is_noted(tmp_path: Path) -> None:
    scenario = ff.Scenario("synthetic", seed=1, target_accuracy=0.4, devices=20, hidden=8, preset="paper",
                           pilot={"rounds_max": 60, "seeds": 1})  # fmt: skip
    found = sweep(scenario, over={"pilot.loss": [1.8, 0.0001]}, schemes=["exact"], seeds=1)
    assert [at["pilot.loss"] for at, _ in found] == [1.8] and len(found) == 1
    ((at, error),) = found.errors
    assert at == {"pilot.loss": 0.0001} and "gave up after 60 rounds" in error
    assert "gave up" in repr(found) and "gave up" in found._repr_html_() and "exact" in repr(found)
    table = found.to_pandas()
    assert len(table) == 2 and table["scheme"].isna().tolist() == [False, True]
    with pytest.raises(ff.InputError, match=r"pilot.loss=0.0001: .*gave up"):
        sweep(scenario, over={"pilot.loss": [0.0001]}, schemes=["exact"], seeds=1)


def test_a_sweep_without_a_folder_lives_as_long_as_its_comparisons() -> None:
    found = sweep(Quadratic(), over={"bandwidth_mbps": np.array([1.5, 2.5])}, schemes=["full"], **QUICK)
    folder, comparison = found.folder, found.points[1][1]
    assert (folder / "fleet.bandwidth_mbps=2.5" / "compare.json").is_file()
    del found
    assert len(comparison.runs) == 1 and len(comparison.runs[0]) > 0
    del comparison
    assert not folder.exists()
