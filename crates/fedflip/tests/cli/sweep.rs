//! A comparison at every value of a key.

use std::fs;

use serde_json::Value;

use super::Desk;
use super::refusals::assert_refused;

/// Points that take a fraction of a second each.
const QUICK: &str = "--quiet --set preset=paper --set fleet.devices=20 --set task.hidden=8 --set pilot.loss=1.5 \
                     --set data.test_samples_max=200 --set stop.target_accuracy=0.4 --seeds 1 \
                     --schemes exact,full --give-up 1000x";

fn point(sweep: &Value, place: usize, scheme: usize) -> &Value {
    &sweep["points"][place]["comparison"]["schemes"][scheme]
}

#[test]
fn a_sweep_is_a_comparison_at_each_value_and_goes_on() {
    let desk = Desk::new();
    let line = format!("sweep {QUICK} --over fleet.bandwidth_mbps=20,2000 --out s");
    let sweep = desk.json(&line);
    assert_eq!(
        sweep["over"],
        serde_json::json!([{"key": "fleet.bandwidth_mbps", "values": [20, 2000]}]),
        "{sweep}"
    );
    let folder = desk.folder.path().join("s/fleet.bandwidth_mbps=20");
    assert_eq!(sweep["points"][0]["folder"], "fleet.bandwidth_mbps=20");
    assert!(folder.join("pilots/uniform-seed1000001").is_dir() && folder.join("runs/full-seed1").is_dir());
    // What `compare` says there is what the point says.
    let alone = desk.json(&format!("compare {QUICK} --set fleet.bandwidth_mbps=20"));
    assert_eq!(sweep["points"][0]["comparison"], alone);
    let kept: Value = serde_json::from_slice(&fs::read(folder.join("compare.json")).unwrap()).unwrap();
    assert_eq!(kept, alone);
    // The same training under full sampling; only the clock differs.
    assert_eq!(point(&sweep, 0, 1)["rounds"], point(&sweep, 1, 1)["rounds"]);
    let hours = |place: usize, scheme: usize| point(&sweep, place, scheme)["hours"]["mean"].as_f64().unwrap();
    assert!(hours(0, 1) > 2.0 * hours(1, 1), "{sweep}");
    for place in [0, 1] {
        let speedups = sweep["points"][place]["speedups_over_full"].as_array().unwrap();
        let names: Vec<&str> = speedups.iter().map(|speedup| speedup["scheme"].as_str().unwrap()).collect();
        assert_eq!(names, ["exact", "full"]);
        assert_eq!(speedups[0]["speedup"]["ratio"].as_f64().unwrap(), hours(place, 1) / hours(place, 0));
        assert_eq!(speedups[0]["speedup"]["bound"], "exact");
    }
    let stored = || fs::read(desk.folder.path().join("s/sweep.json")).unwrap();
    let before = stored();
    assert_eq!(serde_json::from_slice::<Value>(&before).unwrap(), sweep);
    // Without --resume nothing is overwritten; with it, what is missing is done again.
    assert_refused(&desk, &line, b"", &["already holds a run", "--resume"]);
    fs::remove_file(desk.folder.path().join("s/sweep.json")).unwrap();
    fs::remove_dir_all(folder.join("runs/full-seed1")).unwrap();
    assert_eq!(desk.json(&format!("{line} --resume")), sweep);
    assert_eq!(stored(), before);
}

/// Baselines and pilots are trained at the first point alone, and the others have what a comparison from scratch has.
#[test]
fn one_training_serves_all_clocks_of_a_sweep() {
    let desk = Desk::new();
    let flags =
        QUICK.replace("--schemes exact,full --give-up 1000x", "--schemes exact,full,fedavg=3 --give-up 3");
    let over = "--over fleet.bandwidth_mbps=20,2000 --over round.overhead_secs=0,2";
    let table = desk.stdout(&format!("sweep {flags} {over} --out s"));
    // Three other points with two pilots of each of three seeds, and full and fedavg; exact plans for the clock. At the
    // first point the limit of the comparison ends the run under full, so that the second one trains it.
    assert!(table.contains("23 runs were retimed instead of trained"), "{table}");
    for (bandwidth, overhead) in [(20, 2), (2000, 0), (2000, 2)] {
        let point = format!("fleet.bandwidth_mbps={bandwidth},round.overhead_secs={overhead}");
        let alone = format!("alone-{bandwidth}-{overhead}");
        let keys = format!("--set fleet.bandwidth_mbps={bandwidth} --set round.overhead_secs={overhead}");
        desk.stdout(&format!("compare {flags} {keys} --out {alone}"));
        let mut compared = 0;
        for part in ["runs", "pilots"] {
            for run in fs::read_dir(desk.folder.path().join(&alone).join(part)).unwrap() {
                let run = run.unwrap();
                let swept = desk.folder.path().join("s").join(&point).join(part).join(run.file_name());
                for name in ["records.jsonl", "model.safetensors", "run.toml", "plan.csv", "fleet.csv"] {
                    let [alone, swept] =
                        [run.path(), swept.clone()].map(|run| fs::read(run.join(name)).unwrap());
                    assert!(alone == swept, "{point}: {part} {:?} {name} differs", run.file_name());
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 5 * 9);
    }
    // Nothing else is trained where nothing is kept, and the table is the same.
    assert_eq!(desk.stdout(&format!("sweep {flags} {over}")), table);
}

/// A retimed run that ended at a cap can be resumed with a higher one, as a trained one can.
#[test]
fn retimed_runs_are_resumed_with_higher_caps() {
    let desk = Desk::new();
    let flags =
        QUICK.replace("--schemes exact,full", "--schemes fixed=0.3,fedavg=3").replace("=0.4", "=0.99");
    let line = |rounds: u64, out: &str| {
        let over = "--over fleet.bandwidth_mbps=20,2000 --no-pilot";
        format!("sweep {flags} {over} --set stop.rounds_max={rounds} --reference fixed=0.3 --out {out}")
    };
    assert!(desk.stdout(&line(5, "s")).contains("2 runs were retimed"));
    desk.stdout(&format!("{} --resume", line(9, "s")));
    desk.stdout(&line(9, "whole"));
    for run in ["fixed=0.3-seed1", "fedavg=3-seed1"] {
        for name in ["records.jsonl", "model.safetensors"] {
            let file = format!("fleet.bandwidth_mbps=2000/runs/{run}/{name}");
            let [resumed, whole] =
                ["s", "whole"].map(|out| fs::read(desk.folder.path().join(out).join(&file)).unwrap());
            assert!(resumed == whole, "{run} {name}");
        }
    }
}

#[test]
fn two_keys_make_every_combination() {
    let desk = Desk::new();
    let line =
        format!("sweep {QUICK} --over fleet.bandwidth_mbps=50,100 --over world.dropout=0,0.5 --no-pilot");
    let table = desk.stdout(&line);
    let rows: Vec<Vec<&str>> = table.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
    let starts: Vec<&[&str]> = rows.iter().take(8).map(|row| &row[..3]).collect();
    assert_eq!(starts[0], ["50", "0", "exact"]);
    assert_eq!(starts[3], ["50", "0.5", "full"]);
    assert_eq!(starts[7], ["100", "0.5", "full"]);
    assert!(table.contains("speed-up is over full"), "{table}");
}

/// Points whose pilots say nothing do not cost the others; if none says anything, that is the answer.
#[test]
fn a_point_without_a_comparison_is_noted() {
    let desk = Desk::new();
    let line = format!("sweep {QUICK} --set pilot.rounds_max=150");
    let sweep = desk.json(&format!("{line} --over pilot.loss=1.5,0.0001"));
    assert!(sweep["points"][1]["comparison"].is_null());
    assert!(sweep["points"][1]["error"].as_str().unwrap().contains("gave up after 150 rounds"), "{sweep}");
    assert!(point(&sweep, 0, 0)["hours"]["mean"].as_f64().unwrap() > 0.0);
    let words = ["pilot.loss=0.0001: ", "gave up after 150 rounds"];
    assert_refused(&desk, &format!("{line} --over pilot.loss=0.0001"), b"", &words);
}

#[test]
fn what_makes_no_sweep_is_refused_before_anything_runs() {
    let desk = Desk::new();
    for (over, words) in [
        ("fleet.bandwith_mbps=1,2", &["--over", "bandwith_mbps", "did you mean bandwidth_mbps"][..]),
        ("bandwidth_mbps=1", &["--over", "it belongs in [fleet]"]),
        ("fleet.bandwidth_mbps=[1,2]", &["is a list", "without brackets: fleet.bandwidth_mbps=1,2"]),
        ("fleet.types=honor-70", &["fleet.types takes a list"]),
        ("fleet.bandwidth_mbps=", &["no values", "100,200,400"]),
        ("fleet.bandwidth_mbps=1,2,1.0", &["1 and 1.0 are the same"]),
        ("fleet.bandwidth_mbps=100,-1", &["--over", "fleet.bandwidth_mbps", "-1 is out of range"]),
        ("train.batch=8,x", &["train.batch", "\"x\" is text", "a whole number"]),
        ("plan.scheme=exact", &["--schemes"]),
        ("plan.beta=1,2", &["--no-pilot"]),
        ("plan.variance=1,2", &["auto alone has it"]),
    ] {
        assert_refused(&desk, &format!("sweep {QUICK} --out s --over {over}"), b"", words);
        assert!(!desk.folder.path().join("s").exists(), "{over}");
    }
    assert_refused(&desk, "sweep", b"", &["--over"]);
}
