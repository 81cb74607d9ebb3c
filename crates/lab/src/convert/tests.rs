use fedflip_record::{Line, Target, TargetMode, reader};
use fedflip_scenario::Scenario;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use std::fs::File;

use super::*;
use crate::bench::Bench;

/// A comparison with a pilot and a run on a fleet file, as the program of version 1 wrote them.
const RUNS: [&str; 4] = ["pilots/full-seed1000001", "runs/auto-seed1", "runs/paper-seed1", "on-a-fleet-file"];
const FILES: [&str; 4] = ["run.toml", "fleet.csv", "plan.csv", "records.jsonl"];

fn version_1(run: &str, file: &str) -> String {
    fs::read_to_string(Bench::new(None).path("crates/lab/tests/version-1").join(run).join(file)).unwrap()
}

fn copied() -> TempDir {
    let desk = tempfile::tempdir().unwrap();
    for run in RUNS {
        fs::create_dir_all(desk.path().join(run)).unwrap();
        for file in FILES {
            fs::write(desk.path().join(run).join(file), version_1(run, file)).unwrap();
        }
    }
    desk
}

/// Every number of a text, as it is written.
fn numbers(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = text.split([',', ':', '[', ']', '{', '}', '\n']).collect();
    all.retain(|word| word.parse::<f64>().is_ok());
    all.sort_unstable();
    all
}

#[test]
fn a_tree_is_converted_once_and_keeps_every_digit() {
    let desk = copied();
    assert_eq!(convert(desk.path()).unwrap(), Found { converted: 4, kept: 0 });
    let read = |run: &str, file: &str| fs::read_to_string(desk.path().join(run).join(file)).unwrap();
    for run in RUNS {
        let (before, after) = (version_1(run, "records.jsonl"), read(run, "records.jsonl"));
        // The only number that changes is the version.
        let before = before.replacen("\"version\":1,", "\"version\":3,", 1);
        assert_eq!(numbers(&before), numbers(&after), "{run}");
        let path = desk.path().join(run).join("run.toml");
        assert_eq!(Scenario::read(&path, &[]).unwrap().stored(), read(run, "run.toml"), "{run}");
        for file in ["fleet.csv", "plan.csv"] {
            assert_eq!(read(run, file), version_1(run, file), "{run}");
        }
    }
    let once = RUNS.map(|run| FILES.map(|file| read(run, file)));
    assert_eq!(convert(desk.path()).unwrap(), Found { converted: 0, kept: 4 });
    assert_eq!(once, RUNS.map(|run| FILES.map(|file| read(run, file))));
}

#[test]
fn the_program_reads_targets_metrics_and_settings_under_their_new_names() {
    let desk = copied();
    convert(desk.path()).unwrap();
    let read = |run: &str| {
        let run = desk.path().join(run);
        let scenario = Scenario::read(&run.join("run.toml"), &[]).unwrap();
        (scenario, reader::read(&run.join("records.jsonl")).unwrap())
    };
    let (scenario, pilot) = read("pilots/full-seed1000001");
    let target = Target { metric: "loss".to_owned(), at: 2.0, mode: TargetMode::Min };
    assert!(pilot.header.pilot && pilot.header.stop.as_ref() == Some(&target));
    assert_eq!(scenario.stop.target, target);
    assert_eq!(pilot.end.unwrap().reason, fedflip_record::EndReason::Target);

    let (scenario, paper) = read("runs/paper-seed1");
    assert!(!paper.header.pilot);
    assert_eq!((paper.header.stop.map(|target| target.at), scenario.server.averaging), (Some(0.7), 0.0));
    assert_eq!(paper.rounds[0].metrics.get("accuracy"), Some(0.63));
    let named: Vec<&str> = paper.header.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(named, ["accuracy", "loss"]);
    // What `auto` set is spelt out, and stays.
    assert_eq!(read("runs/auto-seed1").0.server.averaging, 0.9);
    let (scenario, records) = read("on-a-fleet-file");
    assert_eq!((scenario.plan.quiet_variance, scenario.plan.quiet_every), (Some(0.3), 4));
    assert_eq!(scenario.devices(), 3);
    assert!(records.rounds.iter().any(|round| !round.lost.is_empty()));
    assert!(!records.end.unwrap().metrics.is_empty(), "the last round was not evaluated");
}

#[test]
fn an_archive_is_converted_in_place_and_keeps_its_names_and_times() {
    let (desk, folder) = (copied(), tempfile::tempdir().unwrap());
    let path = folder.path().join(ARCHIVE);
    let mut packed = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
    packed.append_dir_all(".", desk.path()).unwrap();
    packed.into_inner().unwrap().finish().unwrap();
    let entries = || -> Vec<(PathBuf, u64)> {
        let gzip = flate2::read::GzDecoder::new(File::open(&path).unwrap());
        let mut archive = tar::Archive::new(gzip);
        let of =
            |entry: tar::Entry<'_, _>| (entry.path().unwrap().into_owned(), entry.header().mtime().unwrap());
        archive.entries().unwrap().map(|entry| of(entry.unwrap())).collect()
    };
    let before = entries();
    assert_eq!(convert(folder.path()).unwrap(), Found { converted: 4, kept: 0 });
    assert_eq!(before, entries());
    let bytes = fs::read(&path).unwrap();
    assert_eq!(convert(&path).unwrap(), Found { converted: 0, kept: 4 });
    assert_eq!(bytes, fs::read(&path).unwrap());
}

#[test]
fn what_would_be_lost_is_refused_with_file_and_line_and_nothing_is_written() {
    let (records, run) = ("records.jsonl", "run.toml");
    for (file, old, new, place, problem) in [
        (records, "\"version\":1", "\"version\":4", "records.jsonl, line 1", "version 4"),
        (records, "\"cohort\"", "\"mood\":1,\"cohort\"", "records.jsonl, line 2", "keep only"),
        (records, "\"round\":1,", "\"round\":1,\"metrics\":{},", "records.jsonl, line 2", "`metrics`"),
        (records, "\"reason\":\"target_accuracy\"", "\"reason\":\"tired\"", "records.jsonl, line 5", "tired"),
        (records, "{\"type\":\"end\"", "{\"type\":\"initial\"", "records.jsonl, line 5", "initial"),
        (run, "seeds = 1", "sedes = 1", "run.toml, line 32", "sedes"),
    ] {
        let desk = copied();
        let folder = desk.path().join("runs/paper-seed1");
        let text = version_1("runs/paper-seed1", file);
        assert!(text.contains(old), "{old}");
        fs::write(folder.join(file), text.replacen(old, new, 1)).unwrap();
        let before = FILES.map(|file| fs::read(folder.join(file)).unwrap());
        let error = convert(&folder).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        assert!(error.contains(place) && error.contains(problem), "{error}");
        assert_eq!(before, FILES.map(|file| fs::read(folder.join(file)).unwrap()));
    }
}

#[test]
fn a_run_that_could_go_on_is_not_taken_from_its_program() {
    let desk = copied();
    let folder = desk.path().join("runs/paper-seed1");
    let text = version_1("runs/paper-seed1", "records.jsonl");
    let rounds: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("records.jsonl"), rounds + "{\"type\":\"rou").unwrap();
    fs::create_dir(folder.join("checkpoint")).unwrap();
    assert!(convert(&folder).unwrap_err().to_string().contains("has not ended"));
    fs::remove_dir(folder.join("checkpoint")).unwrap();
    convert(&folder).unwrap();
    let mut lines = 0;
    reader::each(&folder.join("records.jsonl"), |line| lines += usize::from(!matches!(line, Line::End(_))))
        .unwrap();
    assert_eq!(lines, 3, "the line that was being written is left out");
}
