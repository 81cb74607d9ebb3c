//! The binary, run as a user would.
//!
//! # Layout
//!
//! - `asked`: schemes that ask or observe devices.
//! - `buffered`: devices that work without rounds.
//! - `cohorts_and_costs`: cohorts of a fixed size, and what rounds cost.
//! - `dashboard`: runs as they go, in a browser.
//! - `certs`: identities of devices.
//! - `data`: data sets, without any network.
//! - `deploy`: the files in `deploy/`, and the settings of devices.
//! - `snapshots`: what people see.
//! - `json`: what scripts read.
//! - `others`: folders with files that are not a run's.
//! - `own_data`: samples of the user's own.
//! - `own_plan`: participation probabilities from a file.
//! - `own_model`: first models from files, and tasks whose model fedflip does not know.
//! - `fleet_profiles`: fleets by profile.
//! - `refusals`: bad input, each with its place, its value and what would be right.
//! - `report`: pages, figures and tables.
//! - `retime`: finished runs under another clock.
//! - `robust`: runs whose sums limit what a single device can do.
//! - `scenario`: scenarios: what is printed, and what is refused.
//! - `sweep`: a comparison at every value of a key.
//! - `terminal`: what reaches a terminal, a pipe, and nobody.
//! - `training`: run, pilot, compare and export, also killed and on a full disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod asked;
mod buffered;
mod certs;
mod cohorts_and_costs;
mod crews;
mod dashboard;
mod data;
mod deadlines;
mod deploy;
mod fleet_profiles;
mod json;
mod others;
mod own_data;
mod own_model;
mod own_plan;
mod refusals;
mod report;
mod retime;
mod robust;
mod scenario;
mod snapshots;
mod sweep;
mod terminal;
mod training;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with the paper's fleet for the small CNN in `fleet.csv`.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: TempDir::new().expect("a temporary folder") };
        let fleet = desk
            .run("fleet new --devices 100 --profile paper --payload-mbit 0.7 --compute-gflop 0.92 --seed 7");
        desk.write("fleet.csv", &fleet.stdout);
        desk
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join(name), content).expect("the file is written");
    }

    /// Runs `fedflip` with the words of `line` in the folder.
    fn run(&self, line: &str) -> Output {
        self.run_with_input(line, b"")
    }

    fn run_with_input(&self, line: &str, input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fedflip"))
            .args(line.split_whitespace().map(|word| if word == "''" { "" } else { word }))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("fedflip starts");
        // A child that refuses its arguments does not read.
        let _ = child.stdin.take().expect("standard input").write_all(input);
        child.wait_with_output().expect("fedflip ends")
    }

    /// Standard output of a run that must succeed.
    fn stdout(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.stdout(&format!("{line} --json"))).expect("JSON")
    }
}
