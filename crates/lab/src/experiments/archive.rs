//! What is kept of an experiment: tables, curves and figures, the commands, the machine and the commit.

use std::fs;
use std::num::NonZero;
use std::path::Path;

use super::{ExperimentRun, Form};
use crate::error::LabError;
use crate::{files, process};

/// In the folder of an experiment's runs.
const COMMITS: &str = "commits.txt";
/// The records of all runs.
const RECORDS: &str = "records.tar.gz";
/// Files of a run folder that are left out: models, checkpoints, and what is true of one machine or archive alone.
const NOT_RECORDS: [&str; 7] =
    ["checkpoint", "*.safetensors", "events.out.*", "host.json", ".lock", "archive-*", COMMITS];
/// Figures that are worth a place in the repository; all others come from the runs again.
const FIGURES: [&str; 3] = ["accuracy", "loss", "speed-up"];
/// Tables, and the numbers behind the figures.
const TABLES: [&str; 10] = [
    "table1",
    "milestones",
    "milestones-mean",
    "curves",
    "runs",
    "pilots",
    "fits",
    "configuration",
    "sweep",
    "speed-up",
];

/// Writes the archive beside the scenario.
pub(super) fn write(run: &ExperimentRun<'_>) -> Result<(), LabError> {
    let folder = run.bench.path("experiments").join(&run.experiment.name);
    for part in &run.experiment.parts {
        let (runs, kept) = (run.runs().join(&part.folder), folder.join(&part.folder));
        files::create_folder(&kept)?;
        let report = |format: &str| {
            let mut report = run.bench.fedflip();
            report.arg("report").arg(&runs).args(["--format", format]);
            report
        };
        // Where the runs are on this machine says nothing to others.
        let here = format!("{}/", runs.components().as_path().display());
        files::write(&kept.join("tables.md"), &process::output(&mut report("md"))?.replace(&here, ""))?;
        records(run, &runs, &kept)?;
        let all = run.runs().join(format!("archive-{}", part.folder));
        for (format, names) in [("svg", &FIGURES[..]), ("csv", &TABLES[..])] {
            let made = all.join(format);
            process::run(report(format).args(["--quiet", "--out"]).arg(&made))?;
            for name in names {
                let file = format!("{name}.{format}");
                match fs::read_to_string(made.join(&file)) {
                    Ok(text) => files::write(&kept.join(&file), &text.replace(&here, ""))?,
                    // Not every experiment has every figure; one of an earlier archive must not stay.
                    Err(_) => drop(fs::remove_file(kept.join(&file))),
                }
            }
        }
    }
    files::write(&folder.join("provenance.md"), &provenance(run)?)
}

/// The records themselves, with scenario, fleet and plan of every run: `fedflip report` makes all tables and figures
/// again from the unpacked records. Equal runs give equal bytes.
fn records(run: &ExperimentRun<'_>, runs: &Path, kept: &Path) -> Result<(), LabError> {
    let mut tar = run.bench.line("tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner");
    tar.arg("--use-compress-program=gzip --no-name --best");
    tar.args(NOT_RECORDS.map(|name| format!("--exclude={name}")));
    tar.arg("--file").arg(kept.join(RECORDS)).arg("--directory").arg(runs).arg(".");
    process::run(&mut tar)
}

/// Runs may take days and resume with a newer program: every commit that they were run with is noted beside them.
pub(super) fn remember_commit(run: &ExperimentRun<'_>) -> Result<(), LabError> {
    let commit = line(run, "git rev-parse HEAD")?;
    let path = run.runs().join(COMMITS);
    let commits = fs::read_to_string(&path).unwrap_or_default();
    if commits.lines().any(|known| known == commit) {
        return Ok(());
    }
    files::create_folder(&run.runs())?;
    files::write(&path, &format!("{commits}{commit}\n"))
}

fn line(run: &ExperimentRun<'_>, command: &str) -> Result<String, LabError> {
    Ok(process::output(&mut run.bench.line(command))?.trim().to_owned())
}

/// How and where the archive was made.
fn provenance(run: &ExperimentRun<'_>) -> Result<String, LabError> {
    let name = &run.experiment.name;
    let commits = files::read(&run.runs().join(COMMITS))?.lines().collect::<Vec<_>>().join(", ");
    let changes = line(run, "git status --porcelain -- crates Cargo.lock experiments/*/*.toml")?;
    let changed = if changes.is_empty() { "" } else { ", with changes that are not committed" };
    let so_far = match run.form {
        Form::AsIs => "; runs that are not over are shown as far as they had come",
        Form::Full | Form::Quick => "",
    };
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut commands = String::new();
    for part in &run.experiment.parts {
        let mut command = run.bench.command("fedflip");
        command.args(part.words(name, false));
        commands.push_str(&format!("{}\n", process::shown(&command)));
    }
    Ok(format!(
        "# How it was made\n\n- run with commits {commits}{changed}{so_far}\n\
         - {model}, {threads} threads, {}\n- {}\n\n```sh\n{commands}```\n\n\
         All of it: `cargo xtask experiments --run {name}`.\n",
        std::env::consts::OS,
        line(run, "rustc --version")?,
    ))
}
