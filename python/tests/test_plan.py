"""Plans against formulas, against the command line and against the coins of a run."""

from __future__ import annotations

import itertools
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pandas as pd
import pytest

CONSTANTS: dict[str, Any] = {"alpha": 28.474, "beta": 2.2043}
FOUR = {
    "compute_secs": [2.0, 0.4, 1.5, 0.1],
    "comm_secs": [7.0, 2.0, 3.0, 5.0],
    "samples": [300.0, 100.0, 400.0, 200.0],
}


def theorem2_secs(fleet: ff.Fleet, q: Any, bandwidth_mbps: float) -> float:
    """Σ q t/f + E[max τ], with the mean over all cohorts."""
    slowest = 0.0
    for members in itertools.product([False, True], repeat=len(fleet)):
        mask = np.array(members)
        chance = np.prod(np.where(mask, q, 1 - q))
        slowest += chance * (fleet.compute_secs[mask].max() if mask.any() else 0.0)
    return float(np.sum(q * fleet.comm_secs) / bandwidth_mbps + slowest)


def mean_round_secs(fleet: ff.Fleet, q: Any, bandwidth_mbps: float) -> float:
    """The mean over all cohorts of the time at which the cohort finishes together."""
    mean = 0.0
    for members in itertools.product([False, True], repeat=len(fleet)):
        mask = np.array(members)
        if mask.any():
            cohort = np.flatnonzero(mask)
            secs = ff.allocate(fleet, cohort, bandwidth_mbps=bandwidth_mbps).round_secs
            mean += float(np.prod(np.where(mask, q, 1 - q))) * secs
    return mean


@pytest.mark.parametrize(
    "scheme", ["auto", "auto-linear", "exact", "paper", "tight", "full", "uniform", "weighted", "fixed=0.2"]
)
def test_numbers_of_a_plan_are_those_of_its_formulas(paper_fleet: ff.Fleet, scheme: str) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100, scheme=scheme, **CONSTANTS)
    a, q = paper_fleet.data_shares, plan.q
    np.testing.assert_array_equal(plan.weights, a / q)
    assert np.all((q > 0) & (q <= paper_fleet.availability))
    variance = np.sum(a**2 / q)
    assert plan.sampling_variance == pytest.approx(variance, rel=1e-13)
    assert plan.expected_participants == pytest.approx(q.sum(), rel=1e-13)
    assert plan.rounds == pytest.approx(28.474 / (2.2043 - variance), rel=1e-12)
    assert plan.total_secs == plan.rounds * plan.round_secs  # type: ignore[operator]
    assert (plan.scheme, plan.bandwidth_mbps, plan.fleet is paper_fleet) == (scheme, 100.0, True)
    assert (plan.alpha, plan.beta) == (28.474, 2.2043)


def test_exact_is_the_optimum_of_p2(paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100, **CONSTANTS)
    assert (plan.scheme, plan.status) == ("exact", "optimal")
    a, cost = paper_fleet.data_shares, paper_fleet.comm_secs / 100 + paper_fleet.compute_secs
    # Below the caps q = a √(ρ/c), where ρ is the value of the objective, and the variance is β/2.
    assert plan.sampling_variance == pytest.approx(2.2043 / 2, rel=1e-12)
    root = plan.q * np.sqrt(cost) / a
    np.testing.assert_allclose(root, root[0], rtol=1e-12)

    def objective(q: Any) -> float:
        return float(28.474 * np.sum(q * cost) / (2.2043 - np.sum(a**2 / q)))

    best = objective(plan.q)
    rng = np.random.default_rng(1)
    assert all(objective(plan.q * rng.uniform(0.9, 1.1, len(a))) > best for _ in range(200))


def test_round_times_agree_with_all_cohorts_of_a_small_fleet() -> None:
    fleet = ff.Fleet(FOUR)
    plan = ff.plan(fleet, bandwidth_mbps=10, scheme="fixed=0.4", draws=200_000)
    shown = plan.to_dict()["round_secs"]
    assert shown["theorem2_bound"] == pytest.approx(theorem2_secs(fleet, plan.q, 10), rel=1e-12)
    assert shown["linear_bound"] == pytest.approx(
        np.sum(plan.q * (fleet.comm_secs / 10 + fleet.compute_secs)), rel=1e-12
    )
    exact = mean_round_secs(fleet, plan.q, 10)
    error = plan.round_secs_error
    assert plan.round_secs is not None and error is not None and error > 0
    assert abs(plan.round_secs - exact) < 5 * error
    overhead = ff.plan(fleet, bandwidth_mbps=10, scheme="fixed=0.4", overhead_secs=0.25, draws=200_000)
    assert overhead.round_secs == pytest.approx(plan.round_secs + 0.25, rel=1e-12)


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"variance": 0.5}, ["--variance", "0.5"]),
    (CONSTANTS, ["--alpha", "28.474", "--beta", "2.2043"]),
    ({"pilots": ["155:uniform", (13, "full")]}, ["--pilot", "155:uniform", "--pilot", "13:full"]),
    ({"pilots": ["150:uniform", "160:uniform", "13:full", "12:full"], "scheme": "tight"},
     ["--pilot", "150:uniform", "--pilot", "160:uniform", "--pilot", "13:full", "--pilot", "12:full", "--scheme", "tight"]),
    ({**CONSTANTS, "scheme": "sampled", "seed": 5}, ["--alpha", "28.474", "--beta", "2.2043", "--scheme", "sampled", "--seed", "5"]),
    ({"scheme": "fedavg=10", "draws": 500}, ["--scheme", "fedavg=10", "--draws", "500"]),
    ({"scheme": "ocs=10"}, ["--scheme", "ocs=10"]),
    ({"scheme": "fixed=0.2", "overhead_secs": 0.12, "downlink": "broadcast", "downlink_ratio": 8},
     ["--scheme", "fixed=0.2", "--overhead-secs", "0.12", "--downlink", "broadcast", "--downlink-ratio", "8"]),
    ({"downlink": "unicast", "downlink_bandwidth_mbps": 50}, ["--downlink", "unicast", "--downlink-bandwidth", "50"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "flags"), CASES)
def test_a_plan_is_that_of_the_command_line_to_the_bit(
    paper_file: Path, command: Any, arguments: dict[str, Any], flags: list[str]
) -> None:
    plan = ff.plan(paper_file, bandwidth_mbps=100, **arguments)
    shown = json.loads(command("plan", str(paper_file), "--bandwidth", "100", *flags, "--json"))
    assert shown["q"] == plan.q.tolist() and shown["weights"] == plan.weights.tolist()
    assert shown["names"] == list(plan.fleet.names)
    assert (shown["scheme"], shown["status"], shown["rounds"]) == (plan.scheme, plan.status, plan.rounds)
    secs = shown["round_secs"]
    assert (secs and secs["mean"], secs and secs["std_error"]) == (plan.round_secs, plan.round_secs_error)
    for name in (
        "sampling_variance",
        "expected_participants",
        "total_secs",
        "optimality_gap",
        "alpha",
        "beta",
    ):
        assert shown[name] == getattr(plan, name), name
    assert without_times(shown) == without_times(plan.to_dict())
    text = command("plan", str(paper_file), "--bandwidth", "100", *flags)
    assert without_solve_time(text) == without_solve_time(plan.explain())


def without_times(shown: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name not in ("solve_secs", "warnings")}


def without_solve_time(text: str) -> list[str]:
    return [line.split(", solved in")[0] for line in text.rstrip("\n").splitlines()]


def test_spectrum_is_shared_as_on_the_command_line(tmp_path: Path, command: Any) -> None:
    path = tmp_path / "phones.csv"
    fleet = ff.Fleet.paper(30, seed=2, profile="4g")
    fleet.to_csv(path)
    plan = ff.plan(fleet, spectrum_mhz=18)
    shown = json.loads(command("plan", str(path), "--spectrum-mhz", "18", "--json"))
    assert (shown["q"], shown["bandwidth_mbps"]) == (plan.q.tolist(), None)
    assert (plan.bandwidth_mbps, plan.spectrum_mhz) == (None, 18.0)
    assert "18 MHz" in repr(plan) and "18 MHz" in plan._repr_html_()


def test_a_comparison_is_that_of_the_command_line(paper_file: Path, command: Any) -> None:
    comparison = ff.plan(paper_file, bandwidth_mbps=100).compare()
    shown = json.loads(command("plan", str(paper_file), "--bandwidth", "100", "--compare", "--json"))
    assert [entry["scheme"] for entry in comparison] == [entry["scheme"] for entry in shown["schemes"]]
    for entry, wanted in zip(comparison, shown["schemes"], strict=True):
        assert entry["status"] == wanted["status"]
        if "q" in wanted:
            assert entry["sampling_variance"] == wanted["sampling_variance"]
            assert entry["round_secs"] == (wanted["round_secs"] and wanted["round_secs"]["mean"])
        else:
            assert entry["error"] == wanted["error"] and entry["remedy"]
    assert comparison["exact"]["status"] == "needs-constants"
    frame = comparison.to_pandas()
    assert frame.loc["full", "expected_participants"] == 100
    assert "pilots=[" in repr(comparison) and "--" not in repr(comparison)
    assert "<table>" in comparison._repr_html_() and len(comparison) == len(shown["schemes"])
    with pytest.raises(ff.InputError) as refused:
        comparison["exat"]
    assert refused.value.remedy == "did you mean exact?"


def test_schemes_are_listed_with_a_sentence_each() -> None:
    names = ff.schemes()
    assert {"auto", "exact", "fixed=0.2", "fedavg=10", "file=q.csv"} <= set(names)
    assert "needs no pilots" in repr(names)


def test_coins_fall_as_often_as_q_says_and_independently() -> None:
    fleet = ff.Fleet(FOUR)
    q = np.array([0.9, 0.5, 0.05, 0.3])
    plan = ff.Plan.from_q(fleet, q)
    rounds = 20_000
    falls = np.zeros((rounds, 4))
    for round in range(1, rounds + 1):
        falls[round - 1, plan.sample(round=round, seed=5)] = 1
    # Five standard deviations of the mean of independent coins.
    band = 5 * np.sqrt(q * (1 - q) / rounds)
    assert np.all(np.abs(falls.mean(axis=0) - q) < band)
    covariance = np.cov(falls.T)
    off = ~np.eye(4, dtype=bool)
    assert np.all(np.abs(covariance[off]) < 5 * 0.25 / np.sqrt(rounds))
    # The weighted sum is unbiased: the mean weight of a device is its share of the data.
    np.testing.assert_allclose((falls * plan.weights).mean(axis=0), fleet.data_shares, atol=0.03)


def test_samples_are_the_cohorts_of_a_run(short_run: Path) -> None:
    fleet = ff.Fleet(short_run / "fleet.csv")
    plan = ff.plan(fleet, bandwidth_mbps=100, scheme="auto", variance=0.3)
    planned = pd.read_csv(short_run / "plan.csv")
    np.testing.assert_array_equal(plan.q, planned["q"])
    np.testing.assert_array_equal(plan.weights, planned["weight"])
    lines = (short_run / "records.jsonl").read_text().splitlines()
    rounds = [record for record in map(json.loads, lines) if record["type"] == "round"]
    cohorts = {record["round"]: record["cohort"] for record in rounds}
    assert len(cohorts) == 30 and any(cohorts.values())
    for round, cohort in cohorts.items():
        drawn = plan.sample(round=round, seed=11)
        assert drawn.dtype == np.int64 and drawn.tolist() == cohort
    again = ff.Plan.from_q(fleet, planned["q"])
    assert all(again.sample(round=round, seed=11).tolist() == cohort for round, cohort in cohorts.items())


def test_schemes_of_fixed_size_draw_their_cohorts(paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100, scheme="fedavg=7")
    drawn = [plan.sample(round=round, seed=3) for round in range(1, 50)]
    assert all(len(cohort) == 7 and np.all(np.diff(cohort) > 0) for cohort in drawn)
    assert len({tuple(cohort) for cohort in drawn}) > 40
    reports = ff.plan(paper_fleet, bandwidth_mbps=100, scheme="oort=10")
    assert reports.round_secs is None and reports.rounds is None
    with pytest.raises(ff.InputError) as refused:
        reports.sample(round=1, seed=1)
    assert (refused.value.where, refused.value.value) == ("scheme", "oort=10")
    with pytest.raises(ff.InputError, match="no rounds") as refused:
        ff.plan(paper_fleet, bandwidth_mbps=100, scheme="fedbuff=10")
    assert "fedflip.simulate" in refused.value.remedy


def test_plans_from_q_have_weights_and_times_as_far_as_they_are_known() -> None:
    fleet = ff.Fleet(FOUR)
    bare = ff.Plan.from_q(fleet, [0.5, 0.25, 1, 0.0])
    assert bare.scheme == "given" and bare.bandwidth_mbps is None
    assert (bare.round_secs, bare.total_secs, bare.rounds, bare.optimality_gap) == (None, None, None, None)
    # The device without a coin leaves its data to the others.
    np.testing.assert_allclose(bare.weights, [300 / 800 / 0.5, 100 / 800 / 0.25, 0.5, 0.0])
    assert "Plan(given" in bare._repr_html_()
    for call in (bare.explain, bare.compare, bare.to_dict):
        with pytest.raises(ff.InputError) as refused:
            call()
        assert refused.value.where == "bandwidth_mbps"
    known = ff.Plan.from_q(fleet, bare.q, bandwidth_mbps=10, alpha=30.0, beta=2.2)
    assert known.rounds == pytest.approx(30 / (2.2 - known.sampling_variance), rel=1e-12)
    assert known.round_secs == pytest.approx(mean_round_secs(fleet, known.q, 10), rel=0.02)
    assert "q is what the caller chose." in known.explain()


def test_a_plan_in_a_file_is_read_back(tmp_path: Path, paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100)
    plan.to_csv(tmp_path / "q.csv")
    again = ff.plan(paper_fleet, bandwidth_mbps=100, scheme=f"file={tmp_path / 'q.csv'}")
    np.testing.assert_array_equal(again.q, plan.q)
    copied = pickle.dumps(again)
    (tmp_path / "q.csv").unlink()
    assert pickle.loads(copied) == again
    with pytest.raises(ff.InputError, match="flips no coins"):
        ff.plan(paper_fleet, bandwidth_mbps=100, scheme="fedavg=3").to_csv(tmp_path / "f.csv")


def test_plans_survive_pickling_and_are_immutable(paper_fleet: ff.Fleet) -> None:
    plans = [
        ff.plan(paper_fleet, bandwidth_mbps=100),
        ff.plan(paper_fleet, bandwidth_mbps=100, scheme="luo=5", overhead_secs=0.1, downlink="unicast"),
        ff.plan(paper_fleet, bandwidth_mbps=50, pilots=["155:uniform", "13:full"]),
        ff.Plan.from_q(paper_fleet, np.full(100, 0.25)),
    ]
    for plan in plans:
        again = pickle.loads(pickle.dumps(plan))
        assert again == plan and hash(again) == hash(plan) and again.fleet == plan.fleet
        assert again.q.tobytes() == plan.q.tobytes() and again.round_secs == plan.round_secs
    assert plans[0] != plans[1] and plans[0] != ff.plan(paper_fleet, bandwidth_mbps=101)
    with pytest.raises(AttributeError):
        plans[0].q = np.ones(100)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        plans[0].weights[0] = 1.0
    q = plans[0].q
    assert np.shares_memory(q, plans[0].q) and not q.flags.owndata


def test_a_plan_prints_itself(paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100, **CONSTANTS)
    assert repr(plan).startswith("Plan(exact: 100 devices at 100 Mbit/s, 1 per round, Σ a²/q = 1.102, ")
    html = plan._repr_html_()
    assert "<table>" in html and "teclast-m40" in html and "<b>why</b>" in html
    assert plan.explain(devices=True).count("xiaomi-12s-") == 20
    with pytest.raises(TypeError, match="fedflip.plan"):
        ff.Plan()
    scripts = ff.Fleet({**FOUR, "device": ["<b>", "b", "c", "d"]})
    assert "<b>," not in ff.plan(scripts, bandwidth_mbps=1)._repr_html_()


def test_warnings_reach_the_log(paper_fleet: ff.Fleet, caplog: pytest.LogCaptureFixture) -> None:
    frame = paper_fleet.to_pandas().assign(availability=0.1)
    plan = ff.plan(frame, bandwidth_mbps=100, scheme="full")
    assert len(plan.warnings) == 1 and "asks more of 100 devices" in plan.warnings[0]
    assert [record.getMessage() for record in caplog.records] == list(plan.warnings)
    loose = ff.plan(frame, bandwidth_mbps=100, variance=0.01)
    assert any(text.startswith("variance: the sampling variance is") for text in loose.warnings)


REFUSED: list[tuple[dict[str, Any], str, Any, str]] = [
    ({"bandwidth_mbps": None}, "bandwidth_mbps", None, "add bandwidth_mbps"),
    ({"bandwidth_mbps": 0}, "bandwidth_mbps", 0.0, "it must be a bandwidth above 0"),
    ({"bandwidth_mbps": float("nan")}, "bandwidth_mbps", ..., "it must be a bandwidth above 0"),
    ({"bandwidth_mbps": "100"}, "bandwidth_mbps", "100", "give a number"),
    ({"bandwidth_mbps": True}, "bandwidth_mbps", True, "give a number"),
    ({"spectrum_mhz": 18}, "spectrum_mhz", 18.0, "leave out bandwidth_mbps or spectrum_mhz"),
    ({"bandwidth_mbps": None, "spectrum_mhz": 18}, "spectrum_mhz", 18.0, "add the signal-to-noise ratio"),
    ({"scheme": "exat"}, "scheme", "exat", "did you mean exact?"),
    ({"scheme": 3}, "scheme", 3, "give text"),
    ({"scheme": "exact"}, "alpha", None, "give alpha and beta, or pilots"),
    ({"scheme": "fedavg=101"}, "scheme", None, "draw at most 100 devices"),
    ({"scheme": "file=nowhere.csv"}, "nowhere.csv", "nowhere.csv", "name a CSV file"),
    ({"alpha": 3.0}, "beta", None, "give beta too"),
    ({"beta": 3.0}, "alpha", None, "give alpha too"),
    ({"alpha": -1, "beta": 2.0}, "alpha", -1.0, "it must be a number above 0"),
    ({"alpha": 30, "beta": 0.01}, "beta", 0.01, "set an easier target"),
    ({"pilots": ["155:uniform"]}, "pilots", None, "run two pilots"),
    ({"pilots": "155:uniform"}, "pilots", "155:uniform", "give a list"),
    ({"pilots": ["uniform", "13:full"]}, "pilots[0]", "uniform", 'write "18:uniform"'),
    ({"pilots": ["155:uniform", (13, 5)]}, "pilots[1]", (13, 5), 'write "18:uniform"'),
    ({"pilots": ["155:unifrom", "13:full"]}, "pilots", "unifrom", "did you mean uniform?"),
    ({"pilots": ["500+:uniform", "13:full"]}, "pilots", None, "choose a loss F_s that is easier"),
    ({"pilots": ["155:uniform", "13:full"], **CONSTANTS}, "pilots", None, "leave out pilots"),
    ({"variance": 0.0}, "variance", 0.0, "it must be a number above 0"),
    ({"variance": 1.0, "scheme": "full"}, "variance", 1.0, "leave out variance"),
    ({"overhead_secs": -1}, "overhead_secs", -1.0, "it must be a time"),
    ({"downlink": "brodcast"}, "downlink", "brodcast", "did you mean broadcast?"),
    ({"downlink_bandwidth_mbps": 10}, "downlink_bandwidth_mbps", 10.0, 'add downlink="broadcast"'),
    ({"downlink": "unicast", "downlink_ratio": -1}, "downlink_ratio", -1.0, "it must be a number from 0"),
    ({"step_secs": 0.1}, "step_secs", 0.1, "leave out step_secs"),
    ({"seed": -1}, "seed", -1, "give a whole number"),
    ({"seed": 1.5}, "seed", 1.5, "give a whole number"),
    ({"draws": 1}, "draws", 1, "give a whole number from 2"),
]


@pytest.mark.parametrize(("arguments", "where", "value", "remedy"), REFUSED)
def test_bad_arguments_are_refused_with_place_value_and_remedy(
    paper_fleet: ff.Fleet, arguments: dict[str, Any], where: str, value: Any, remedy: str
) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.plan(paper_fleet, **{"bandwidth_mbps": 100, **arguments})
    error = refused.value
    assert error.where == where and (value is ... or error.value == value), (error.where, error.value)
    assert error.remedy.startswith(remedy), error.remedy
    assert "--" not in str(error)


@pytest.mark.parametrize(
    ("q", "where", "value"),
    [
        ([0.5, 0.5], "q", 2),
        ([0.5, 0.5, 1.5, 0.5], "q, row 2", 1.5),
        ([0.5, 0.5, 0.5, -0.1], "q, row 3", -0.1),
        ([0.0] * 4, "q", None),
        ([[0.5] * 4], "q", ...),
        (["a"] * 4, "q", ...),
        (None, "q", ...),
    ],
)
def test_bad_probabilities_are_refused(q: Any, where: str, value: Any) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.Plan.from_q(ff.Fleet(FOUR), q)
    assert refused.value.where == where and (value is ... or refused.value.value == value)
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("arguments", "where"), [({"round": 0, "seed": 1}, "round"), ({"round": 1, "seed": -1}, "seed")]
)
def test_bad_rounds_and_seeds_are_refused(
    paper_fleet: ff.Fleet, arguments: dict[str, int], where: str
) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.plan(paper_fleet, bandwidth_mbps=100).sample(**arguments)
    assert refused.value.where == where


def test_devices_finish_together_and_use_the_whole_band(
    paper_fleet: ff.Fleet, paper_file: Path, command: Any
) -> None:
    names = paper_fleet.names
    shares = ff.allocate(paper_fleet, [50, names[3], 81], bandwidth_mbps=100)
    np.testing.assert_array_equal(shares.position, [3, 50, 81])
    assert shares.device == (names[3], names[50], names[81]) and len(shares) == 3
    np.testing.assert_allclose(shares.finish_secs, shares.round_secs, rtol=1e-12)
    np.testing.assert_allclose(
        shares.upload_secs, paper_fleet.comm_secs[shares.position] / shares.mbps, rtol=1e-9
    )
    assert shares.mbps.sum() == pytest.approx(100, rel=1e-9)
    shown = json.loads(
        command("allocate", str(paper_file), "--bandwidth", "100", "--cohort", "3,50,81", "--json")
    )
    assert shown["round_secs"] == shares.round_secs
    assert [share["mbps"] for share in shown["shares"]] == shares.mbps.tolist()
    equal = ff.allocate(paper_fleet, np.array([3, 50, 81]), bandwidth_mbps=100, equal=True)
    assert (equal.round_secs, equal.other_round_secs) == (shares.other_round_secs, shares.round_secs)
    np.testing.assert_allclose(equal.mbps, 100 / 3)
    assert shares.to_pandas()["device"].tolist() == list(shares.device)
    assert "adaptive shares" in repr(shares) and "<table>" in shares._repr_html_()
    assert ff.allocate(paper_fleet, [], bandwidth_mbps=100).round_secs == 0.0
    with pytest.raises(ValueError, match="read-only"):
        shares.mbps[0] = 1.0


@pytest.mark.parametrize(
    ("cohort", "where", "value", "remedy"),
    [
        ([3, 100], "cohort[1]", 100, "give names, or positions from 0 to 99"),
        ([-1], "cohort[0]", -1, "give names, or positions from 0 to 99"),
        ([3, "teclast-m40-99"], "cohort[1]", "teclast-m40-99", "did you mean teclast-m40-"),
        ([3, 3], "cohort[1]", 3, "name every device once"),
        ([1.5], "cohort[0]", 1.5, "give names"),
        ("3", "cohort", "3", "give positions or names"),
        (7, "cohort", 7, "give positions or names"),
    ],
)
def test_bad_cohorts_are_refused(
    paper_fleet: ff.Fleet, cohort: Any, where: str, value: Any, remedy: str
) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.allocate(paper_fleet, cohort, bandwidth_mbps=100)
    assert (refused.value.where, refused.value.value) == (where, value)
    assert refused.value.remedy.startswith(remedy)


THEOREM: dict[str, Any] = {
    "learning_rate": 0.001,
    "smoothness": 1.0,
    "divergence": 0.5,
    "gradient_variance": 0.5,
    "initial_gap": 2.3,
}


def test_theorem_1_by_hand(paper_fleet: ff.Fleet, paper_file: Path, command: Any) -> None:
    bound = ff.bound(paper_fleet, **THEOREM, rounds=20_000, threshold=1.5, scheme="fixed=0.2")
    variance = np.sum(paper_fleet.data_shares**2 / 0.2)
    floor = 4 * 0.001 * 1.0 * 100 * (0.5 + 0.5) * variance
    assert bound.floor == pytest.approx(floor, rel=1e-12)
    assert bound.bound == pytest.approx(4 * 2.3 / (0.001 * 20_000) + floor, rel=1e-12)
    assert bound.rounds_needed == np.ceil(4 * 2.3 / (0.001 * (1.5 - floor)))
    assert bound.p == pytest.approx(100 * variance, rel=1e-12) and bound.holds
    words = [
        "bound",
        str(paper_file),
        "--scheme",
        "fixed=0.2",
        "--learning-rate",
        "0.001",
        "--smoothness",
        "1",
    ]
    words += ["--divergence", "0.5", "--gradient-variance", "0.5", "--initial-gap", "2.3"]
    words += ["--rounds", "20000", "--threshold", "1.5"]
    assert json.loads(command(*words, "--json")) == bound.to_dict()
    assert command(*words).rstrip("\n") == repr(bound)
    plan = ff.plan(paper_fleet, bandwidth_mbps=100, scheme="fixed=0.2")
    assert ff.bound(plan, **THEOREM, rounds=20_000, threshold=1.5) == bound
    planned = ff.bound(paper_fleet, **THEOREM, threshold=1.5, scheme="exact", bandwidth_mbps=100)
    assert planned.sampling_variance == pytest.approx(planned.beta / 2, rel=1e-9)  # type: ignore[operator]
    assert pickle.loads(pickle.dumps(bound)) == bound


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({}, "rounds"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": 10, "learning_rate": 0}, "learning_rate"),
        ({"rounds": 10, "divergence": -1}, "divergence"),
        ({"rounds": 10, "scheme": "auto"}, "bandwidth_mbps"),
        ({"rounds": 10, "scheme": "exact", "bandwidth_mbps": 10}, "threshold"),
        ({"rounds": 10, "scheme": "ful"}, "scheme"),
        ({"rounds": 10, "variance": 1.0}, "variance"),
        ({"rounds": "10"}, "rounds"),
    ],
)
def test_bad_questions_to_the_theorem_are_refused(paper_fleet: ff.Fleet, arguments: Any, where: str) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.bound(paper_fleet, **{**THEOREM, **arguments})
    assert refused.value.where == where and refused.value.remedy
    with pytest.raises(ff.InputError) as refused:
        ff.bound(ff.plan(paper_fleet, bandwidth_mbps=10), **THEOREM, rounds=1, scheme="full")
    assert refused.value.where == "scheme"


def test_plans_from_threads_are_equal(paper_fleet: ff.Fleet) -> None:
    alone = ff.plan(paper_fleet, bandwidth_mbps=100, scheme="tight", **CONSTANTS)
    found: list[ff.Plan] = []

    def work() -> None:
        for _ in range(20):
            plan = ff.plan(paper_fleet, bandwidth_mbps=100, scheme="tight", **CONSTANTS)
            assert plan.round_secs == alone.round_secs
            np.testing.assert_array_equal(plan.sample(round=9, seed=1), alone.sample(round=9, seed=1))
            found.append(plan)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and all(plan == alone for plan in found)


def test_one_plan_is_evaluated_by_many_threads_at_once(paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=100)
    found: list[float | None] = []
    threads = [threading.Thread(target=lambda: found.append(plan.round_secs)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def resident_bytes() -> int:
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the size of the process")
def test_ten_thousand_calls_leave_no_memory_behind() -> None:
    columns = {name: np.linspace(1.0, 2.0, 500) for name in FOUR}

    def once(round: int) -> None:
        fleet = ff.Fleet(columns)
        plan = ff.plan(fleet, bandwidth_mbps=100, scheme="fixed=0.2")
        plan.q.sum() + plan.weights.sum() + plan.sample(round=round, seed=1).sum()
        fleet.samples.sum()
        with pytest.raises(ff.InputError):
            ff.plan(fleet, bandwidth_mbps=-1.0)

    for round in range(1, 1_001):
        once(round)
    before = resident_bytes()
    for round in range(1, 10_001):
        once(round)
    # Each call holds 40 kB or more: a leak of one column would be 40 MB.
    assert resident_bytes() - before < 8_000_000
