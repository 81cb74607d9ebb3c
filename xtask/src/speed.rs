//! `cargo xtask speed`: what the README promises of the command line, measured on the release
//! binary the way a user meets it, reading and printing included.

mod report;

use std::env::consts::EXE_SUFFIX;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::error::TaskError;
use crate::json::number_after;
use crate::repo::Repo;
use crate::shell::Cmd;

/// Samples per device on average: those of 60,000 images over a hundred devices.
const SAMPLES_EACH: u64 = 600;
/// Long past any promise: a child still running then is stuck.
const PATIENCE_SECS: f64 = 120.0;
/// The best of as many runs counts: a busy machine can only make a run slower.
const RUNS: usize = 3;

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
    /// The most memory it ever held; `None` where the system does not tell.
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

/// On which binary, and how much longer than promised it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    profile: &'static str,
    slack: f64,
}

/// What is promised, on what is shipped.
pub(crate) const FULL: Form = Form { profile: "release", slack: 1.0 };

/// For `cargo xtask test`, with the binary that its tests are made with: it is hardly optimised, so this sees what
/// grows with the square of something; the pinned instruction counts see the rest.
pub(crate) const SHORT: Form = Form { profile: "debug", slack: 10.0 };

pub(crate) fn run(repo: &Repo, form: &Form) -> Result<(), TaskError> {
    match form.profile {
        "release" => Cmd::words("cargo build --locked --release --package fedflip").run(repo)?,
        _ => build_as_tests(repo)?,
    }
    let folder = repo.target().join("speed");
    fs::create_dir_all(&folder).map_err(|source| TaskError::File { path: folder.clone(), source })?;

    for promise in PROMISES {
        for scheme in ["exact", "paper"] {
            let mut cost = plan_fleet(repo, form, &folder, promise.devices, scheme)?;
            for _ in 1..RUNS {
                let again = plan_fleet(repo, form, &folder, promise.devices, scheme)?;
                cost.wall_secs = cost.wall_secs.min(again.wall_secs);
                cost.solve_secs = cost.solve_secs.min(again.solve_secs);
            }
            println!("   {scheme}, {} devices: {cost}", promise.devices);
            promise.keep(form, scheme, cost)?;
        }
    }
    report::run(repo, &program(repo, form), form.slack, &folder)
}

/// Built as the tests are, features and all: `cargo build` of one package would compile half of it anew.
pub(crate) fn build_as_tests(repo: &Repo) -> Result<(), TaskError> {
    Cmd::words("cargo test --locked --quiet --workspace --no-run").run(repo)
}

/// The binary that is measured.
fn program(repo: &Repo, form: &Form) -> String {
    let path = repo.target().join(form.profile).join(format!("fedflip{EXE_SUFFIX}"));
    path.display().to_string()
}

/// Makes a fleet file and plans it; returns what the planning cost.
fn plan_fleet(
    repo: &Repo,
    form: &Form,
    folder: &Path,
    devices: u64,
    scheme: &str,
) -> Result<Cost, TaskError> {
    let program = program(repo, form);
    let fleet = folder.join(format!("{devices}.csv"));
    let plan = folder.join(format!("{devices}.json"));

    let making = Cmd::new(&program)
        .args(["fleet", "new", "--profile", "paper", "--seed", "7"])
        .args(["--payload-mbit", "0.7", "--compute-gflop", "0.92"])
        .args(["--devices", &devices.to_string()])
        .args(["--samples-total", &(devices * SAMPLES_EACH).to_string()]);
    measure(repo, &making, &fleet)?;

    let planning = Cmd::new(&program)
        .arg("plan")
        .arg(fleet.display().to_string())
        .args(["--bandwidth", "100", "--alpha", "100", "--beta", "2"])
        .args(["--scheme", scheme, "--json"]);
    let (wall_secs, peak_mb) = measure(repo, &planning, &plan)?;
    let json = fs::read_to_string(&plan).map_err(|source| TaskError::File { path: plan.clone(), source })?;
    let solve_secs = number_after(&json, "solve_secs")
        .ok_or_else(|| TaskError::Answer(format!("{}: no number `solve_secs`", plan.display())))?;
    Ok(Cost { wall_secs, peak_mb, solve_secs })
}

impl Promise {
    fn keep(&self, form: &Form, scheme: &str, cost: Cost) -> Result<(), TaskError> {
        let Self { devices, wall_secs_max, peak_mb_max, solve_secs_max } = *self;
        let measured = [
            ("seconds in all", Some(cost.wall_secs), form.slack * wall_secs_max),
            ("MB", cost.peak_mb, peak_mb_max),
            ("seconds of solving", Some(cost.solve_secs), form.slack * solve_secs_max),
        ];
        for (what, value, max) in measured {
            if let Some(value) = value.filter(|value| *value > max) {
                return Err(TaskError::Promise(format!(
                    "{scheme} for {devices} devices took {value:.6} {what}; at most {max} are promised"
                )));
            }
        }
        Ok(())
    }
}

/// Runs the command with its output in a file; returns its seconds and the most MB it held.
fn measure(repo: &Repo, cmd: &Cmd, output: &Path) -> Result<(f64, Option<f64>), TaskError> {
    println!("   $ {cmd} > {}", output.display());
    let file =
        File::create(output).map_err(|source| TaskError::File { path: output.to_path_buf(), source })?;
    let watch = Stopwatch::start();
    let mut child = cmd.prepare(repo).stdout(file).spawn().map_err(|source| cmd.cannot_start(source))?;
    let mut peak_mb = None;
    loop {
        // The kernel keeps the high-water mark itself, so a look every millisecond can only miss
        // growth within the last one.
        peak_mb = peak_of(&child).or(peak_mb);
        let ended = child.try_wait().map_err(|source| cmd.cannot_start(source))?;
        if let Some(ended) = ended {
            cmd.check(ended)?;
            return Ok((watch.secs(), peak_mb));
        }
        if watch.secs() > PATIENCE_SECS {
            child.kill().map_err(|source| cmd.cannot_start(source))?;
            child.wait().map_err(|source| cmd.cannot_start(source))?;
            return Err(TaskError::Promise(format!("`{cmd}` was still running after {PATIENCE_SECS} s")));
        }
        clock::pause(Duration::from_millis(1));
    }
}

/// The most memory the child has held so far. Linux only: elsewhere there is no such file.
fn peak_of(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    peak_mb_in(&status)
}

fn peak_mb_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_in_megabytes() {
        let status = "Name:\tfedflip\nVmPeak:\t  999999 kB\nVmHWM:\t  250000 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(peak_mb_in(status), Some(256.0));
        assert_eq!(peak_mb_in("Name:\tzombie\n"), None);
    }

    #[test]
    fn a_promise_is_broken_by_time_by_memory_or_by_solving() {
        let promise = PROMISES[1];
        let cost = |wall_secs, peak_mb, solve_secs| {
            promise.keep(&FULL, "exact", Cost { wall_secs, peak_mb, solve_secs }).is_ok()
        };
        assert!(cost(0.9, Some(120.0), 0.1));
        assert!(cost(0.9, None, 0.1));
        assert!(!cost(3.1, Some(120.0), 0.1));
        assert!(!cost(0.9, Some(501.0), 0.1));
        assert!(!cost(0.9, Some(120.0), 1.1));
    }
}
