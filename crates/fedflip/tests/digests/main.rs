//! Equal settings give equal bytes: models and virtual times of a set of runs, against what was recorded before
//! tasks, scenarios and runs became libraries (`expected.toml`, by the program of commit e60d675).
//!
//! Virtual times are the same on every machine. Models are compared where the processor is of the kind that recorded
//! them: another one rounds otherwise (ARCHITECTURE.md, "The same bytes on the same kind of machine").

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod killed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};
use toml::Table;

/// Where the expected values are.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests")
}

fn table(name: &str) -> Table {
    std::fs::read_to_string(here().join(name)).unwrap().parse().unwrap()
}

/// One run of `runs.toml`.
struct Run {
    name: String,
    task: String,
    preset: String,
    scheme: String,
    set: Vec<String>,
}

fn runs() -> Vec<Run> {
    let spec = table("runs.toml");
    let defaults = &spec["defaults"];
    let texts = |value: &toml::Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let run = |(name, run): (&String, &toml::Value)| {
        let text = |key: &str, default: &str| {
            run.get(key).map_or(default.to_owned(), |text| text.as_str().unwrap().to_owned())
        };
        let mut set = texts(&defaults["set"]);
        set.extend(run.get("set").map(texts).unwrap_or_default());
        let rounds = run.get("rounds").unwrap_or(&defaults["rounds"]).as_integer().unwrap();
        set.push(format!("stop.rounds_max={rounds}"));
        let (task, preset) = (text("task", "synthetic"), text("preset", "paper"));
        Run { name: name.clone(), task, preset, scheme: text("scheme", ""), set }
    };
    spec["runs"].as_table().unwrap().iter().map(run).collect()
}

impl Run {
    /// The command that runs it into `folder`.
    fn command(&self, folder: &Path) -> Command {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::copy(here().join("fleet.csv"), folder.join("fleet.csv")).unwrap();
        let scenario = folder.join("scenario.toml");
        let text = format!("preset = \"{}\"\n\n[task]\nname = \"{}\"\n", self.preset, self.task);
        std::fs::write(&scenario, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedflip"));
        command.arg("run").arg(scenario).args(["--scheme", &self.scheme, "--quiet", "--out"]);
        command.arg(folder.join("run"));
        for set in &self.set {
            command.args(["--set", set]);
        }
        command
    }
}

/// What is compared.
#[derive(Debug, PartialEq, Eq)]
struct Digests {
    rounds: u64,
    /// Of each round's number, start and length, and of its cohort.
    clock: String,
    /// Of the parameters, without the file's header.
    model: String,
}

impl Digests {
    fn of(folder: &Path) -> Self {
        let (mut clock, mut rounds) = (Sha256::new(), 0);
        let records = std::fs::read_to_string(folder.join("records.jsonl")).unwrap();
        for line in records.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if record["type"] != "round" {
                continue;
            }
            rounds = record["round"].as_u64().unwrap();
            clock.update(rounds.to_le_bytes());
            for key in ["start_secs", "round_secs"] {
                clock.update(record[key].as_f64().unwrap().to_le_bytes());
            }
            for device in record["cohort"].as_array().unwrap() {
                clock.update(device.as_u64().unwrap().to_le_bytes());
            }
        }
        let model = std::fs::read(folder.join("model.safetensors")).unwrap();
        let header = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
        let model = hex(&Sha256::digest(&model[8 + header..]));
        Self { rounds, clock: hex(&clock.finalize()), model }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn expected() -> (BTreeMap<String, Digests>, bool) {
    let mut table = table("expected.toml");
    let recorded_on = table.remove("processor").unwrap();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let same_processor = cpu.contains(recorded_on.as_str().unwrap()) && cpu.contains("avx512f");
    let digests = |value: &toml::Value| Digests {
        rounds: value["rounds"].as_integer().unwrap() as u64,
        clock: value["clock"].as_str().unwrap().to_owned(),
        model: value["model"].as_str().unwrap().to_owned(),
    };
    (table.iter().map(|(name, value)| (name.clone(), digests(value))).collect(), same_processor)
}

fn compare(selected: impl Fn(&Run) -> bool) {
    let (expected, same_processor) = expected();
    if !same_processor {
        println!("models are not compared: they were recorded on another kind of processor");
    }
    let mut compared = 0;
    for run in runs().iter().filter(|run| selected(run)) {
        let desk = tempfile::tempdir().unwrap();
        let output = run.command(desk.path()).output().unwrap();
        assert!(output.status.success(), "{}: {}", run.name, String::from_utf8_lossy(&output.stderr));
        let mut found = Digests::of(&desk.path().join("run"));
        let expected = &expected[&run.name];
        if !same_processor {
            found.model.clone_from(&expected.model);
        }
        assert_eq!(&found, expected, "{}", run.name);
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn every_scheme_condition_encoding_and_optimiser() {
    compare(|run| run.task == "synthetic");
}

#[test]
fn thirty_rounds_of_mnist() {
    let data = std::env::var_os("FEDFLIP_DATA").map(PathBuf::from);
    if !data.is_some_and(|data| data.join("mnist").is_dir()) {
        println!("skipped: mnist is not in FEDFLIP_DATA");
        return;
    }
    compare(|run| run.task == "mnist-cnn");
}
