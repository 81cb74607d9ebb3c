//! `speed`: what docs/explanation/performance.md promises of the command line, measured on the binary the way a user meets it, reading
//! and printing included.

mod report;

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::background::peak_memory_bytes;
use crate::bench::Bench;
use crate::clock::{self, Stopwatch};
use crate::error::LabError;
use crate::{files, process};

/// Samples per device on average: those of 60,000 images over a hundred devices.
const SAMPLES_EACH: u64 = 600;
/// Long past any promise: a child still running then is stuck.
const PATIENCE_SECS: f64 = 120.0;
/// The best of as many runs counts: a busy machine can only make a run slower.
const RUNS: usize = 3;
/// How much longer than promised the short measurement may take: it runs on the tests' binary, which is hardly
/// optimised, so it sees what grows with the square of something; the pinned instruction counts see the rest.
pub(crate) const SHORT_SLACK: f64 = 10.0;

/// What a plan may cost. The margins over what a quiet machine takes are wide on purpose: this guards
/// the promises, not the last per cent.
#[derive(Debug, Clone, Copy)]
struct Promise {
    devices: u64,
    wall_secs_max: f64,
    peak_mb_max: f64,
    solve_secs_max: f64,
}

const PROMISES: [Promise; 2] = [
    Promise { devices: 100, wall_secs_max: 1.0, peak_mb_max: 100.0, solve_secs_max: 100e-6 },
    Promise { devices: 1_000_000, wall_secs_max: 3.0, peak_mb_max: 500.0, solve_secs_max: 1.0 },
];

/// What one plan cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    wall_secs: f64,
    /// None where the system does not tell.
    peak_mb: Option<f64>,
    /// The part that the program itself says it spent solving.
    solve_secs: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wall_secs, peak_mb, solve_secs } = self;
        write!(f, "planned in {wall_secs:.3} s, of which solving {:.1} µs", solve_secs * 1e6)?;
        match peak_mb {
            Some(peak_mb) => write!(f, "; at most {peak_mb:.0} MB"),
            None => f.write_str("; its memory cannot be seen on this system"),
        }
    }
}

pub(crate) fn run(bench: &Bench, slack: f64) -> Result<(), LabError> {
    bench.build(&[])?;
    let folder = bench.target().join("speed");
    files::create_folder(&folder)?;
    for promise in PROMISES {
        for scheme in ["exact", "paper"] {
            let mut cost = plan_fleet(bench, &folder, promise.devices, scheme)?;
            for _ in 1..RUNS {
                let again = plan_fleet(bench, &folder, promise.devices, scheme)?;
                cost.wall_secs = cost.wall_secs.min(again.wall_secs);
                cost.solve_secs = cost.solve_secs.min(again.solve_secs);
            }
            println!("   {scheme}, {} devices: {cost}", promise.devices);
            promise.keep(slack, scheme, cost)?;
        }
    }
    report::run(bench, slack, &folder)
}

/// The part of a plan that is read.
#[derive(Deserialize)]
struct Plan {
    solve_secs: f64,
}

/// Makes a fleet file and plans it; returns what the planning cost.
fn plan_fleet(bench: &Bench, folder: &Path, devices: u64, scheme: &str) -> Result<Cost, LabError> {
    let fleet = folder.join(format!("{devices}.csv"));
    let plan = folder.join(format!("{devices}.json"));
    let samples = (devices * SAMPLES_EACH).to_string();
    let mut making = bench.fedflip();
    making.args(["fleet", "new", "--profile", "paper", "--seed", "7", "--payload-mbit", "0.7"]);
    making.args(["--compute-gflop", "0.92", "--devices", &devices.to_string(), "--samples-total", &samples]);
    measure(&mut making, &fleet)?;

    let mut planning = bench.fedflip();
    planning.arg("plan").arg(&fleet).args(["--bandwidth", "100", "--alpha", "100", "--beta", "2"]);
    let (wall_secs, peak_mb) = measure(planning.args(["--scheme", scheme, "--json"]), &plan)?;
    let Plan { solve_secs } = files::from_json(&files::read(&plan)?, &plan.display().to_string())?;
    Ok(Cost { wall_secs, peak_mb, solve_secs })
}

impl Promise {
    fn keep(&self, slack: f64, scheme: &str, cost: Cost) -> Result<(), LabError> {
        let Self { devices, wall_secs_max, peak_mb_max, solve_secs_max } = *self;
        let measured = [
            ("seconds in all", Some(cost.wall_secs), slack * wall_secs_max),
            ("MB", cost.peak_mb, peak_mb_max),
            ("seconds of solving", Some(cost.solve_secs), slack * solve_secs_max),
        ];
        for (what, value, max) in measured {
            if let Some(value) = value.filter(|value| *value > max) {
                return Err(LabError::Broken(format!(
                    "{scheme} for {devices} devices took {value:.6} {what}; at most {max} are promised"
                )));
            }
        }
        Ok(())
    }
}

/// Runs the command with its output in a file; returns its seconds and the most MB it held.
fn measure(command: &mut Command, output: &Path) -> Result<(f64, Option<f64>), LabError> {
    let shown = process::shown(command);
    println!("   $ {shown} > {}", output.display());
    let file =
        File::create(output).map_err(|source| LabError::File { path: output.to_path_buf(), source })?;
    let lost = |source| LabError::Start { command: shown.clone(), source };
    let watch = Stopwatch::start();
    let mut child = command.stdout(file).spawn().map_err(lost)?;
    let mut peak_mb = None;
    loop {
        // The kernel keeps the high-water mark itself, so a look every millisecond can only miss growth within the
        // last one.
        peak_mb = peak_memory_bytes(child.id()).map(|bytes| bytes / 1e6).or(peak_mb);
        if let Some(ended) = child.try_wait().map_err(lost)? {
            process::check(&shown, ended)?;
            return Ok((watch.secs(), peak_mb));
        }
        if watch.secs() > PATIENCE_SECS {
            child.kill().map_err(lost)?;
            child.wait().map_err(lost)?;
            return Err(LabError::Broken(format!("`{shown}` was still running after {PATIENCE_SECS} s")));
        }
        clock::pause(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_broken_by_time_by_memory_or_by_solving() {
        let promise = PROMISES[1];
        let cost = |wall_secs, peak_mb, solve_secs| {
            promise.keep(1.0, "exact", Cost { wall_secs, peak_mb, solve_secs }).is_ok()
        };
        assert!(cost(0.9, Some(120.0), 0.1));
        assert!(cost(0.9, None, 0.1));
        assert!(!cost(3.1, Some(120.0), 0.1));
        assert!(!cost(0.9, Some(501.0), 0.1));
        assert!(!cost(0.9, Some(120.0), 1.1));
    }
}
