"""Pictures: the right lines, areas, marks and labels in the Axes, and bad input."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fedflip as ff
import matplotlib
import numpy as np
import pytest
from fedflip.plots._participation import band
from fedflip.plots._style import device_type, kinds, line_styles

matplotlib.use("Agg")

import matplotlib.pyplot as plt

SCENARIO = '[task]\nname = "synthetic"\n[fleet]\ndevices = 20\n[stop]\nrounds_max = 30\nat = 0.3\n'


@pytest.fixture(scope="module")
def runs(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, ff.Run]:
    """Runs by scheme and seed, and one with downloads and losses."""
    folder = tmp_path_factory.mktemp("plots")
    (folder / "s.toml").write_text(SCENARIO)
    for scheme, seed in itertools.product(("auto", "full"), ("1", "2", "3")):
        command(
            "run", "s.toml", "--quiet", "--out", scheme + seed, "--scheme", scheme, "--seed", seed, cwd=folder
        )
    more = [
        "--set",
        "stop.at=0.99",
        "--set",
        "world.dropout=0.3",
        "--set",
        "round.downlink=broadcast",
        "--set",
        "downlink.bandwidth_mbps=20",
    ]
    command("run", "s.toml", "--quiet", "--out", "lossy", "--scheme", "fixed=0.5", *more, cwd=folder)
    for scheme in ("fedbuff=4", "oort=3"):
        command("run", "s.toml", "--quiet", "--out", scheme, "--scheme", scheme, cwd=folder)
    return {path.name: ff.open(path) for path in folder.iterdir() if path.is_dir()}


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def seeds(runs: dict[str, ff.Run], scheme: str) -> list[ff.Run]:
    return [run for name, run in sorted(runs.items()) if run.scheme == scheme]


def line(ax: Any, label: str) -> Any:
    return next(line for line in ax.get_lines() if line.get_label() == label)


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_one_run_is_its_evaluations(runs: dict[str, ff.Run]) -> None:
    run = runs["full1"]
    ax = run.plot()
    evaluations = run.evaluations
    drawn = line(ax, "full")
    np.testing.assert_allclose(drawn.get_xdata(), evaluations["secs"])
    np.testing.assert_allclose(drawn.get_ydata(), 100 * evaluations["accuracy"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("virtual time (s)", "accuracy (%)")
    assert line(ax, "target").get_ydata()[0] == pytest.approx(30) and legend(ax) == ["full", "target"]
    assert not ax.collections, "one seed has no band"
    loss = run.plot(metric="loss")
    np.testing.assert_allclose(line(loss, "full").get_ydata(), evaluations["loss"])
    assert loss.get_ylabel() == "loss" and legend(loss) == ["full"], "the target is one of accuracy"


def value_at(run: ff.Run, secs: float) -> float:
    """The last value by a time, without numpy."""
    pairs = zip(run.evaluations["secs"].tolist(), run.evaluations["accuracy"].tolist(), strict=True)
    return float([value for when, value in pairs if when <= secs][-1])


@pytest.mark.parametrize(("center", "spread"), [("mean", "range"), ("median", "quartiles"), ("mean", "std")])
def test_seeds_are_a_line_and_a_band(runs: dict[str, ff.Run], center: str, spread: str) -> None:
    groups = {scheme: seeds(runs, scheme) for scheme in ("auto", "full")}
    ax: Any = ff.plots.accuracy(groups["full"] + groups["auto"], center=center, band=spread)
    assert legend(ax) == ["full (3 seeds)", "auto (3 seeds)", "target"] and len(ax.collections) == 2
    for area, (scheme, group) in zip(ax.collections, reversed(groups.items()), strict=True):
        drawn = line(ax, f"{scheme} (3 seeds)")
        corners = {(round(x, 9), round(y, 9)) for x, y in area.get_paths()[0].vertices}
        unit = 1.0 if "(s)" in ax.get_xlabel() else 1e-3
        for x, y in itertools.islice(zip(drawn.get_xdata(), drawn.get_ydata(), strict=True), 0, None, 5):
            values = np.array([100 * value_at(run, x * unit * (1 + 1e-12)) for run in group])
            assert y == pytest.approx(getattr(np, center)(values))
            low, high = {
                "range": (values.min(), values.max()),
                "quartiles": tuple(np.quantile(values, [0.25, 0.75])),
                "std": (values.mean() - values.std(ddof=1), values.mean() + values.std(ddof=1)),
            }[spread]
            at = sorted(corner for x_corner, corner in corners if math.isclose(x_corner, x, abs_tol=2e-9))
            assert any(math.isclose(found, low, abs_tol=1e-6) for found in at)
            assert any(math.isclose(found, high, abs_tol=1e-6) for found in at)


def test_runs_may_have_labels_and_a_target_is_a_filled_dot(runs: dict[str, ff.Run]) -> None:
    figure, ax = plt.subplots()
    reached = [run for run in seeds(runs, "full") if run.end is not None and run.end.reason == "target"]
    capped = [run for run in runs.values() if run.end is not None and run.end.reason == "rounds_max"]
    assert reached and capped
    labelled: dict[str, Any] = {"ours": reached[0], "theirs": [capped[0]]}
    assert ff.plots.accuracy(labelled, ax=ax, target=False) is ax
    assert legend(ax) == ["ours", "theirs"] and ax.figure is figure
    dots = [line.get_markerfacecolor() for line in ax.get_lines() if line.get_marker() == "o"]
    assert dots[0] == line(ax, "ours").get_color() and dots[1] == "white"


def test_participation_is_counted(runs: dict[str, ff.Run]) -> None:
    run = runs["auto1"]
    ax = ff.plots.participation(run)
    points = np.concatenate([np.asarray(marks.get_offsets()) for marks in ax.collections[1:]])
    counts = [0] * run.devices
    for device in run.participants["device"].tolist():
        counts[device] += 1
    expected = {
        (round(q, 12), round(count / len(run), 12)) for q, count in zip(run.q.tolist(), counts, strict=True)
    }
    assert {(round(q, 12), round(share, 12)) for q, share in points.tolist()} == expected and len(
        points
    ) == 20
    assert (
        ax.get_xlabel() == "participation probability $q$"
        and ax.get_ylabel() == f"share of {len(run)} rounds"
    )
    assert legend(ax)[:2] == ["95 % by chance", "as planned"]
    assert set(legend(ax)[2:]) == {device_type(name) for name in run.fleet.names}


@pytest.mark.parametrize("rounds", [1, 7, 40])
@pytest.mark.parametrize("q", [0.0, 0.03, 0.5, 0.9, 1.0])
def test_the_band_holds_what_chance_does(rounds: int, q: float) -> None:
    """By enumeration: the counts in the band have the confidence, and no count fewer at either end would do."""
    low, high = (round(float(edge[0]) * rounds) for edge in band(np.array([q]), rounds, 0.95))
    mass = [math.comb(rounds, k) * q**k * (1 - q) ** (rounds - k) for k in range(rounds + 1)]
    assert sum(mass[low : high + 1]) >= 0.95 - 1e-12
    assert sum(mass[:low]) <= 0.025 + 1e-12 and sum(mass[high + 1 :]) <= 0.025 + 1e-12
    assert sum(mass[: low + 1]) > 0.025 - 1e-12 and sum(mass[high:]) > 0.025 - 1e-12
    exact, normal = band(np.array([0.3]), 20_000, 0.95), band(np.array([0.3]), 20_001, 0.95)
    np.testing.assert_allclose(np.ravel(exact), np.ravel(normal), atol=2e-4)


def bars(ax: Any) -> list[tuple[float, float, float]]:
    """Row, begin and end of every bar."""
    found = [
        (bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches
    ]
    return [bar for bar in found if bar[2] > bar[1]]


def test_a_timeline_has_a_bar_for_each_part_of_each_device(runs: dict[str, ff.Run]) -> None:
    run = runs["lossy"]
    number = int(run.rounds["round"][np.argmax(run.rounds["participants"])])
    ax = ff.plots.timeline(run)
    table, names = run.times(number), run.fleet.names
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(rows) == sorted(names[device] for device in table["device"])
    assert f"time since round {number} began (ms); it took" in ax.get_xlabel()
    expected = []
    for row in range(len(table)):
        begin, place = 0.0, rows.index(names[table["device"][row]])
        for part in ("download_secs", "compute_secs", "upload_secs"):
            expected.append((place, 1e3 * begin, 1e3 * (begin + table[part][row])))
            begin += table[part][row]
    np.testing.assert_allclose(sorted(bars(ax)), sorted(expected), atol=1e-6)
    assert legend(ax)[:3] == ["download", "compute", "upload"]
    lost = int((table["reported"] == 0).sum())
    assert (
        sum(bool(bar.get_hatch()) for bar in ax.patches) == 3 * lost > 0 and legend(ax)[3] == "did not report"
    )
    compute = [table["compute_secs"][list(table["device"]).index(names.index(name))] for name in rows]
    assert compute == sorted(compute), "the slowest are last"
    rates = {text.get_text() for text in ax.texts}
    assert {f"{mbps:.3g}" for mbps in table["mbps"]} | {"Mbit/s"} == rates


def test_several_rounds_share_one_clock(runs: dict[str, ff.Run]) -> None:
    run = runs["full1"]
    ax = ff.plots.timeline(run, rounds=range(2, 5))
    table, begin = run.times(range(2, 5)), run.rounds["start_secs"][2]
    assert len(bars(ax)) == 2 * len(table)
    ends = sorted({round(end, 6) for _, _, end in bars(ax)})
    last = 1e3 * (table["start_secs"] - begin + table["compute_secs"] + table["upload_secs"]).max()
    assert ends[-1] == pytest.approx(last) and ax.get_xlabel() == "time since round 2 began (ms)"
    assert [text.get_text() for text in ax.texts] == ["round 2", "round 3", "round 4"]


def test_many_devices_are_cut_to_a_page() -> None:
    run = ff.simulate(ff.Scenario("synthetic", devices=70), plan="full", rounds_max=1, seed=1, progress=False)
    ax = ff.plots.timeline(run, rounds=1)
    assert len(ax.get_yticklabels()) == 50 and ax.get_xlabel().endswith("20 faster devices are left out")


def test_plans_and_fleets_have_a_mark_for_each_device(paper_fleet: ff.Fleet) -> None:
    plan = ff.plan(paper_fleet, bandwidth_mbps=50)
    ax: Any = ff.plots.plan(plan)
    points = np.concatenate([np.asarray(marks.get_offsets()) for marks in ax.collections])
    alone = paper_fleet.compute_secs + paper_fleet.comm_secs / 50
    assert sorted(map(tuple, points.tolist())) == sorted(zip(alone.tolist(), plan.q.tolist(), strict=True))
    assert ax.get_xlabel() == "round of the device alone at 50 Mbit/s (s)" and ax.get_yscale() == "log"
    assert set(legend(ax)) == {device_type(name) for name in paper_fleet.names}
    ax = ff.plots.fleet(paper_fleet)
    points = np.concatenate([np.asarray(marks.get_offsets()) for marks in ax.collections])
    expected = zip(paper_fleet.compute_secs.tolist(), paper_fleet.samples.tolist(), strict=True)
    assert sorted(map(tuple, points.tolist())) == sorted(expected)
    without = ff.Plan.from_q(paper_fleet, np.where(np.arange(100) < 50, 0.5, 0.0))
    ax = ff.plots.plan(without)
    assert sum(len(marks.get_offsets()) for marks in ax.collections) == 50
    assert ax.get_xlabel() == "round of the device alone at 1 Mbit/s (s)"


def test_a_large_fleet_is_thinned_out() -> None:
    ax: Any = ff.plots.fleet(ff.Fleet.paper(20_000, seed=1))
    assert sum(len(marks.get_offsets()) for marks in ax.collections) == 5000
    assert ax.get_legend().get_title().get_text().startswith("5,000 of 20,000 devices")


def test_no_two_lines_look_the_same() -> None:
    names = ["auto", "exact", "full", "uniform", "fixed=0.1", "fixed=0.2", *(f"mine-{n}" for n in range(15))]
    styles = line_styles(names)
    assert len({tuple(style.values()) for style in styles.values()}) == len(names)
    assert line_styles(["full"])["full"] == styles["full"], "a scheme looks the same in all pictures"
    labels = [label for label, _, _ in kinds(f"{kind}-{n}" for kind in "abcdefghij" for n in range(3))]
    assert labels == ["a", "b", "c", "d", "e", "f", "4 other types"]
    assert [label for label, _, _ in kinds(["x", "y", "z"])] == [""]


def refused(call: Callable[[], Any]) -> tuple[str, Any, str]:
    with pytest.raises(ff.InputError) as caught:
        call()
    return caught.value.where, caught.value.value, caught.value.remedy


def test_bad_arguments_are_named(runs: dict[str, ff.Run], paper_fleet: ff.Fleet) -> None:
    run, plots = runs["auto1"], ff.plots
    assert refused(lambda: plots.accuracy(run, "acuracy")) == ("metric", "acuracy", "did you mean accuracy?")
    assert refused(lambda: plots.accuracy(run, "zz"))[2] == "choose one of accuracy, loss, f1"
    assert refused(lambda: plots.accuracy([])) == ("runs", [], "give at least one run")
    assert refused(lambda: plots.accuracy(["a"]))[:2] == ("runs", "a")  # type: ignore[list-item]
    assert refused(lambda: plots.accuracy(run, band="sd")) == ("band", "sd", "did you mean std?")
    assert refused(lambda: plots.accuracy(run, center="mode"))[:2] == ("center", "mode")
    assert refused(lambda: plots.accuracy(run, ax=3))[:2] == ("ax", 3)  # type: ignore[arg-type]
    assert refused(lambda: plots.participation(run, confidence=95))[:2] == ("confidence", 95)
    assert refused(lambda: plots.participation(runs["oort=3"]))[:2] == ("run", "oort=3")
    assert refused(lambda: plots.participation(3))[:2] == ("run", 3)  # type: ignore[arg-type]
    assert refused(lambda: plots.timeline(runs["fedbuff=4"]))[:2] == ("run", "fedbuff=4")
    assert refused(lambda: plots.timeline(run, rounds=99)) == (
        "rounds",
        99,
        f"name rounds from 1 to {len(run)}",
    )
    empty = int(run.rounds["round"][1:][run.rounds["participants"][1:] == 0][0])
    assert refused(lambda: plots.timeline(run, rounds=empty))[:2] == ("rounds", empty)
    assert refused(lambda: plots.plan(paper_fleet))[:2] == ("plan", paper_fleet)  # type: ignore[arg-type]
    assert refused(lambda: plots.fleet({}))[:2] == ("fleet", {})  # type: ignore[arg-type]


def test_pictures_need_matplotlib_alone() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
        "import fedflip as ff\n"
        "try: ff.plots.fleet(ff.Fleet.paper(10))\n"
        "except ff.InputError as error: print(error.where, '|', error.remedy)"
    )
    package = str(Path(ff.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": package}
    )
    assert done.stdout.strip() == "fleet | pip install matplotlib"


def test_figures_are_drawn_whole(runs: dict[str, ff.Run], paper_fleet: ff.Fleet, tmp_path: Path) -> None:
    pictures: list[Any] = [
        ff.plots.accuracy(list(runs.values())),
        ff.plots.participation(runs["full1"]),
        ff.plots.timeline(runs["lossy"], rounds=[1, 2, 3]),
        ff.plots.plan(ff.plan(paper_fleet, bandwidth_mbps=100)),
        ff.plots.fleet(paper_fleet),
    ]
    for place, ax in enumerate(pictures):
        for ending in ("png", "pdf", "svg"):
            ax.figure.savefig(tmp_path / f"{place}.{ending}")
            assert (tmp_path / f"{place}.{ending}").stat().st_size > 2000
