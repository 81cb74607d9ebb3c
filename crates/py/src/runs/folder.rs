//! What a run folder holds, and which runs are below a folder that holds none.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::{Plan, Schedule};
use fedflip_record::Line;
use fedflip_record::folder::{FLEET, PLAN, RECORDS, RUN};
use fedflip_record::reader::{self, Records};
use fedflip_scenario::Scenario;
use pyo3::Python;

use super::models::Models;
use super::{Part, RunData};
use crate::error::Failure;

/// How deep runs may lie below a folder: sweep, point, `runs`, run.
const DEPTH_MAX: usize = 4;
/// The most runs that an error names.
const NAMED_MAX: usize = 8;

/// Reads the run in a folder. Only its records have to be there: what else is missing is said when it is asked for.
pub(super) fn read(folder: &Path) -> Result<RunData, Failure> {
    let path = folder.join(RECORDS);
    if !path.exists() {
        return Err(no_run(folder));
    }
    let (records, planned_after) = records(&path)?;
    let fleet = read_fleet(&folder.join(FLEET));
    let q = read_q(folder, fleet.as_ref());
    Ok(RunData {
        records,
        planned_after,
        run_toml: text(&folder.join(RUN)),
        fleet,
        q,
        models: Models::Folder(folder.to_owned()),
    })
}

/// The records of a file, and the last round before the present plan.
fn records(path: &Path) -> Result<(Records, u64), Failure> {
    let mut records: Option<Records> = None;
    let mut planned_after = 0;
    reader::each(path, |line| match (line, &mut records) {
        (Line::Header(header), _) => {
            records = Some(Records { header, initial: None, rounds: Vec::new(), end: None });
        }
        (_, None) | (Line::Recount(_), _) => {}
        (Line::Initial(initial), Some(records)) => records.initial = Some(initial),
        (Line::Round(round), Some(records)) => records.rounds.push(round),
        (Line::Changed(changed), Some(records)) => records.header.take(&changed),
        (Line::Replan(replan), Some(records)) => {
            records.header.devices = records.header.devices.max(replan.devices);
            planned_after = replan.after_round;
        }
        (Line::End(end), Some(records)) => records.end = Some(end),
    })?;
    let begun = records.map(|records| (records, planned_after));
    begun.ok_or_else(|| {
        let problem = format!("{}: there is no whole line yet", path.display());
        Failure::other(problem, "open the run when it has begun, or run again in another folder")
    })
}

fn text(path: &Path) -> Part<String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn read_fleet(path: &Path) -> Part<Arc<Fleet>> {
    let cannot = |error| format!("{} cannot be read: {error}", path.display());
    let file = fs::File::open(path).map_err(cannot)?;
    let fleet = csv_file::read(file, &path.display().to_string());
    fleet.map(Arc::new).map_err(|error| error.to_string())
}

/// The mean q of usual and quiet rounds.
fn read_q(folder: &Path, fleet: Result<&Arc<Fleet>, &String>) -> Part<Vec<f64>> {
    let path = folder.join(PLAN);
    let text = text(&path)?;
    let refused = |what: String| format!("{}: {what}", path.display());
    let column = |name: &str| column(&text, name).map_err(&refused);
    let q = column("q")?.ok_or_else(|| refused("line 1: there is no column q".to_owned()))?;
    let (Some(quiet_q), Ok(fleet)) = (column("quiet_q")?, fleet) else { return Ok(q) };
    let scenario = Scenario::read(&folder.join(RUN), &[]).map_err(|error| error.to_string())?;
    let plan = |q| Plan::from_q(fleet, q).map_err(|error| refused(error.to_string()));
    let schedule = Schedule::new(plan(q)?, u64::MAX);
    let schedule = match scenario.plan.quiet() {
        Some(quiet) => {
            schedule.with_quiet(quiet.every, plan(quiet_q)?).map_err(|error| refused(error.to_string()))?
        }
        None => schedule,
    };
    Ok(schedule.mean_q())
}

/// The probabilities in a column of a `plan.csv`; none if there is no such column. Columns are counted from the end of a
/// line, so that a name may hold commas.
fn column(text: &str, name: &str) -> Result<Option<Vec<f64>>, String> {
    let mut lines = text.lines();
    let mut heads = lines.next().unwrap_or_default().rsplit(',');
    let Some(from_end) = heads.position(|head| head == name) else { return Ok(None) };
    let parse = |(number, line): (usize, &str)| {
        let cell = line.rsplit(',').nth(from_end).unwrap_or_default();
        let q: Option<f64> = cell.parse().ok().filter(|q| (0.0..=1.0).contains(q));
        q.ok_or_else(|| format!("line {number}: {cell:?} is no probability"))
    };
    (2..).zip(lines).map(parse).collect::<Result<Vec<f64>, String>>().map(Some)
}

/// Why a folder holds no run, and which ones are near.
fn no_run(folder: &Path) -> Failure {
    let shown = folder.display().to_string();
    let failure = |problem: &str, remedy: String| {
        let problem = format!("{shown} {problem}");
        Python::attach(|py| Failure::input(problem, remedy).at("folder").of(py, &shown))
    };
    if !folder.exists() {
        return failure("does not exist", "name the folder that was out= of a run".to_owned());
    }
    if !folder.is_dir() {
        let parent = folder.parent().filter(|parent| parent.join(RECORDS).is_file());
        let instead = parent.map(|parent| format!(": {}", parent.display())).unwrap_or_default();
        return failure("is a file, and a run is a folder", format!("name the folder of the run{instead}"));
    }
    let mut found = Vec::new();
    walk(folder, 0, &mut found);
    found.sort_unstable();
    if found.is_empty() {
        let remedy = "name the folder that was out= of a run; it holds records.jsonl".to_owned();
        return failure("is not a run folder: there is no records.jsonl in it", remedy);
    }
    let mut names: Vec<String> = found
        .iter()
        .take(NAMED_MAX)
        .map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string())
        .collect();
    let more = found.len().saturating_sub(NAMED_MAX);
    names.extend((more > 0).then(|| format!("and {more} more")));
    let several = if found.len() == 1 { "a run".to_owned() } else { format!("{} runs", found.len()) };
    let problem = format!("holds {several}, and is not a run folder itself");
    failure(&problem, format!("open one of the runs in it: {}", names.join(", ")))
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    // Links are not followed: they may lead in circles.
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for path in entries.filter_map(Result::ok).filter(is_folder).map(|entry| entry.path()) {
        if path.join(RECORDS).is_file() {
            found.push(path);
        } else if depth < DEPTH_MAX {
            walk(&path, depth + 1, found);
        }
    }
}
