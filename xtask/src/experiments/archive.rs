//! What is kept of an experiment: tables, curves and figures, the commands, the machine and the commit.

use std::fs;
use std::path::Path;

use super::{Desk, Form};
use crate::error::TaskError;
use crate::shell::Cmd;

/// In the folder of an experiment's runs.
const COMMITS: &str = "commits.txt";
/// What is kept of the runs' folders.
const RECORDS: &str = "records.tar.gz";
/// What is in them besides: models, how they go on, and what is true of one machine or of this archive alone.
const NOT_RECORDS: [&str; 7] =
    ["checkpoint", "model.safetensors", "events.out.*", "host.json", ".lock", "archive-*", COMMITS];
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

/// Writes it beside the scenario.
pub(super) fn write(desk: &Desk<'_>) -> Result<(), TaskError> {
    let folder = desk.repo.path("experiments").join(desk.experiment.name);
    for part in desk.experiment.parts {
        let runs = desk.runs().join(part.folder);
        let kept = folder.join(part.folder);
        fs::create_dir_all(&kept).map_err(|source| TaskError::File { path: kept.clone(), source })?;
        let report = || desk.fedflip().args(["report", &runs.display().to_string(), "--format"]);
        // Where the runs are on this machine says nothing to others.
        let here = format!("{}/", runs.components().as_path().display());
        put(&kept.join("tables.md"), &report().arg("md").output(desk.repo)?.replace(&here, ""))?;
        records(desk, &runs, &kept)?;
        let all = desk.runs().join(format!("archive-{}", part.folder));
        for (format, names) in [("svg", &FIGURES[..]), ("csv", &TABLES[..])] {
            let made = all.join(format);
            report().args([format, "--quiet", "--out", &made.display().to_string()]).run(desk.repo)?;
            for name in names {
                let file = format!("{name}.{format}");
                match fs::read_to_string(made.join(&file)) {
                    Ok(text) => put(&kept.join(&file), &text.replace(&here, ""))?,
                    // Not every experiment has every figure; one of an earlier archive must not stay.
                    Err(_) => drop(fs::remove_file(kept.join(&file))),
                }
            }
        }
    }
    put(&folder.join("provenance.md"), &provenance(desk)?)
}

/// The records themselves, with scenario, fleet and plan of every run: unpacked, `fedflip report` makes all the rest of
/// them again. Equal runs give equal bytes.
fn records(desk: &Desk<'_>, runs: &Path, kept: &Path) -> Result<(), TaskError> {
    let left_out = NOT_RECORDS.map(|name| format!("--exclude={name}"));
    Cmd::words("tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner")
        .arg("--use-compress-program=gzip --no-name --best")
        .args(left_out)
        .args(["--file", &kept.join(RECORDS).display().to_string()])
        .args(["--directory", &runs.display().to_string(), "."])
        .run(desk.repo)
}

/// Runs may take days and go on with a newer program: every commit that they were run with is noted beside them.
pub(super) fn remember_commit(desk: &Desk<'_>) -> Result<(), TaskError> {
    let commit = line(desk, "git rev-parse HEAD")?;
    let path = desk.runs().join(COMMITS);
    let mut commits = fs::read_to_string(&path).unwrap_or_default();
    if !commits.lines().any(|known| known == commit) {
        commits.push_str(&format!("{commit}\n"));
        fs::create_dir_all(desk.runs()).map_err(|source| TaskError::File { path: desk.runs(), source })?;
        put(&path, &commits)?;
    }
    Ok(())
}

fn line(desk: &Desk<'_>, command: &str) -> Result<String, TaskError> {
    Ok(Cmd::words(command).output(desk.repo)?.trim().to_owned())
}

/// How it was made, and where.
fn provenance(desk: &Desk<'_>) -> Result<String, TaskError> {
    let path = desk.runs().join(COMMITS);
    let commits = fs::read_to_string(&path).map_err(|source| TaskError::File { path, source })?;
    let commits = commits.lines().collect::<Vec<_>>().join(", ");
    let clean = line(desk, "git status --porcelain -- crates Cargo.lock xtask experiments/*/scenario.toml")?;
    let changed = if clean.is_empty() { "" } else { ", with changes that are not committed" };
    let so_far = if desk.form == Form::AsIs {
        "; runs that are not over are shown as far as they had come"
    } else {
        ""
    };
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut text = format!(
        "# How it was made\n\n- run with commits {commits}{changed}{so_far}\n- {model}, {threads} threads, {}\n- {}\n\n```sh\n",
        std::env::consts::OS,
        line(desk, "rustc --version")?,
    );
    for part in desk.experiment.parts {
        let command = desk.words(part).fold(Cmd::new("fedflip"), Cmd::arg);
        text.push_str(&format!("{command}\n"));
    }
    text.push_str("```\n\nAll of it: `cargo xtask experiments --run ");
    text.push_str(desk.experiment.name);
    text.push_str("`.\n");
    Ok(text)
}

fn put(path: &Path, text: &str) -> Result<(), TaskError> {
    fs::write(path, text).map_err(|source| TaskError::File { path: path.to_path_buf(), source })
}
