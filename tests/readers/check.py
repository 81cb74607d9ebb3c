"""What fedflip writes, read by the programs it is written for.

    python tests/readers/check.py FEDFLIP

runs the binary FEDFLIP on a small scenario of made-up data, once undisturbed and once stopped and resumed, and
holds TensorBoard's reader, pandas, DuckDB and safetensors against the records, value by value. It fails where
one differs. `cargo xtask test readers` makes the environment and calls it.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy
import pandas
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer

ROUNDS = 150
# Empty rounds, lost devices, rounds without an evaluation, and a last one that only the end evaluates.
SETTINGS = {
    "task.hidden": 8,
    "fleet.devices": 20,
    "data.test_samples_max": 200,
    "stop.target_accuracy": 0.999,
    "stop.rounds_max": ROUNDS,
    "world.dropout": 0.1,
    "record.evaluate_every": 7,
    "plan.scheme": "fixed=0.06",
}
EVENTS = "events.out.tfevents.0.fedflip"


def require(holds, what):
    if not holds:
        sys.exit(f"readers: {what}")


def same(found, wanted, what):
    """Equal to the bit; nothing is equal to nothing."""
    missing = [value is None or (isinstance(value, float) and math.isnan(value)) for value in (found, wanted)]
    require(all(missing) or (not any(missing) and found == wanted), f"{what}: {found!r} is not {wanted!r}")


class Desk:
    """A folder, and fedflip at work in it."""

    def __init__(self, program, folder):
        self.program = str(Path(program).resolve())
        self.folder = Path(folder)
        (self.folder / "s.toml").write_text(self.fedflip("scenario", "new", "synthetic"))

    def fedflip(self, *words, codes=(0,)):
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True)
        line = " ".join(words)
        require(done.returncode in codes, f"`fedflip {line}` ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def run(self, out, *more, codes=(0,), **settings):
        given = SETTINGS | {key.replace("__", "."): value for key, value in settings.items()}
        words = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        self.fedflip("run", "s.toml", "--quiet", "--out", out, *words, *more, codes=codes)


def records(folder):
    """Rounds, end and first evaluation, as any JSON reader sees them."""
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if line["type"] == "round"]
    ends = [line for line in lines if line["type"] == "end"]
    initial = next(line for line in lines if line["type"] == "initial")
    return rounds, ends[0] if ends else None, initial


def expected_scalars(rounds, end, initial):
    """(step, virtual seconds, value) of every tag."""
    tags = {name: [(0, initial["secs"], value)] for name, value in initial["metrics"].items()}
    for line in rounds:
        secs = line["start_secs"] + line["round_secs"]
        values = line.get("metrics", {}) | {name: line.get(name) for name in ("train_loss", "round_secs")}
        values |= {"participants": len(line["cohort"]), "virtual_hours": secs / 3600}
        for tag, value in values.items():
            if value is not None:
                tags.setdefault(tag, []).append((line["round"], secs, value))
    for tag, value in end.get("metrics", {}).items() if end else ():
        tags[tag].append((end["rounds"], end["secs"], value))
    return tags


def check_events(folder, run):
    """TensorBoard's own reader against the records. Event files hold 32 bits of a value."""
    expected = expected_scalars(*records(run))
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    reader.Reload()
    require(reader.file_version == 2.0, f"{folder}: file version {reader.file_version}")
    require(set(reader.Tags()["scalars"]) == set(expected), f"{folder}: tags {reader.Tags()['scalars']}")
    compared = 0
    for tag, wanted in expected.items():
        found = reader.Scalars(tag)
        require(len(found) == len(wanted), f"{folder}, {tag}: {len(found)} events for {len(wanted)} values")
        for event, (step, secs, value) in zip(found, wanted):
            what = f"{folder.name}, {tag} at step {step}"
            same(event.step, step, f"{what}, step")
            same(event.wall_time, secs, f"{what}, time")
            same(event.value, float(numpy.float32(value)), what)
            compared += 1
    # What the web page itself goes through.
    runs = EventMultiplexer().AddRunsFromDirectory(str(folder)).Reload()
    require(list(runs.Runs()) == ["."], f"{folder}: runs {runs.Runs()}")
    return compared


def check_cut_events(run, scratch):
    """A file that ends in the middle of an event has all events before it."""
    whole = (run / EVENTS).read_bytes()
    scratch.mkdir()
    for cut in (len(whole) - 1, len(whole) // 2, len(whole) // 3):
        (scratch / EVENTS).write_bytes(whole[:cut])
        reader = EventAccumulator(str(scratch), size_guidance={"scalars": 0})
        reader.Reload()
        steps = [event.step for event in reader.Scalars("round_secs")]
        require(steps == list(range(1, len(steps) + 1)) and len(steps) > 20, f"cut at {cut}: steps {steps}")


def check_tables(desk, name):
    """Parquet by pandas and by DuckDB, against the CSV and the records."""
    rounds, _, initial = records(desk.folder / name)
    # The first model is round 0.
    first = {"round": 0, "start_secs": initial["secs"], "round_secs": 0.0, "cohort": [], "mbps": [], "train_loss": None}
    rounds = [first | {"metrics": initial["metrics"]}, *rounds]
    fleet = pandas.read_csv(desk.folder / name / "fleet.csv", comment="#")
    wanted = {
        "rounds": [
            {
                "round": line["round"],
                "start_secs": line["start_secs"],
                "round_secs": line["round_secs"],
                "participants": len(line["cohort"]),
                "lost": len(line.get("lost", [])),
                "train_loss": line["train_loss"],
                **{metric: line.get("metrics", {}).get(metric) for metric in ("accuracy", "loss", "f1")},
            }
            for line in rounds
        ],
        "participants": [
            {
                "round": line["round"],
                "device": device,
                # Shares have 32 bits, and JSON the fewest digits that tell them apart.
                "mbps": float(numpy.float32(mbps)),
                "reported": int(all(lost["device"] != device for lost in line.get("lost", []))),
                "name": fleet.iloc[device, 0],
            }
            for line in rounds
            for device, mbps in zip(line["cohort"], line["mbps"])
        ],
    }
    compared = 0
    for table, rows in wanted.items():
        require(len(rows) > 20, f"{table}: only {len(rows)} rows to compare")
        files = {kind: str(desk.folder / f"{name}-{table}.{kind}") for kind in ("parquet", "csv")}
        for file in files.values():
            desk.fedflip("export", name, "--table", table, "--out", file)
        frame = pandas.read_parquet(files["parquet"])
        cursor = duckdb.sql(f"SELECT * FROM '{files['parquet']}' ORDER BY 1, 2")
        readers = {
            "pandas": (list(frame.columns), frame.astype(object).to_numpy().tolist()),
            "DuckDB": (cursor.columns, cursor.fetchall()),
        }
        csv = pandas.read_csv(files["csv"])
        readers["CSV"] = (list(csv.columns), csv.astype(object).to_numpy().tolist())
        for reader, (columns, found) in readers.items():
            require(columns == list(rows[0]), f"{table} by {reader}: columns {columns}")
            require(len(found) == len(rows), f"{table} by {reader}: {len(found)} rows, not {len(rows)}")
            for line, row in zip(found, rows):
                for value, (column, right) in zip(line, row.items()):
                    same(value, right, f"{table} by {reader}, round {row['round']}, {column}")
                    compared += 1
    return compared


def check_resumed(desk):
    """Stopped again and again by the clock on the wall, it comes to the same event file."""
    sessions = 0
    while True:
        sessions += 1
        desk.run("resumed", "--resume", "--tensorboard", codes=(0, 4), stop__real_hours_max=2e-7)
        if records(desk.folder / "resumed")[1]:
            break
        require(sessions < 10_000, "the resumed run does not end")
    require(sessions > 1, "the run was to be stopped, and was not")
    whole, resumed = (desk.folder / run / EVENTS for run in ("whole", "resumed"))
    require(whole.read_bytes() == resumed.read_bytes(), "the resumed run has another event file")
    return sessions


def main():
    require(len(sys.argv) == 2, "name the fedflip binary, and nothing else")
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(sys.argv[1], folder)
        desk.run("whole", "--tensorboard")
        rounds, end, _ = records(desk.folder / "whole")
        require(len(rounds) == ROUNDS and end["metrics"]["accuracy"] is not None, "the run is not the one this was made for")
        require(any(not line["cohort"] for line in rounds), "no round is empty")
        require(any(line.get("lost") for line in rounds), "no device is lost")
        sessions = check_resumed(desk)
        scalars = check_events(desk.folder / "whole", desk.folder / "whole")
        scalars += check_events(desk.folder / "resumed", desk.folder / "resumed")
        desk.run("plain")
        desk.fedflip("export", "plain", "--format", "tensorboard", "--out", "events")
        scalars += check_events(desk.folder / "events", desk.folder / "plain")
        check_cut_events(desk.folder / "whole", desk.folder / "cut")
        cells = check_tables(desk, "whole")
        model = load_file(desk.folder / "whole" / "model.safetensors")
        require(all(numpy.isfinite(array).all() for array in model.values()) and model, "the model is not whole")
        print(
            f"   TensorBoard: {scalars} scalars (also of a run of {sessions} sessions); pandas, DuckDB and CSV: "
            f"{cells} cells; safetensors: {len(model)} tensors"
        )


if __name__ == "__main__":
    main()
