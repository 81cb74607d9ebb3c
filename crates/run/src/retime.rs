//! One training, many clocks: a finished run in its folder under another fleet, bandwidth or cost model.

use std::path::{Path, PathBuf};

use fedflip_fleet::{Fleet, Gflop, Weights, csv_file};
use fedflip_record::folder::{
    BEST, Caps, Contents, FLEET, LOCK, MODEL, RECORDS, RUN, WEIGHTS, last_checkpoint,
};
use fedflip_record::reader::{self, Records};
use fedflip_record::{Checkpoint, FolderProblem, RecordError, RunFolder, others};
use fedflip_scenario::{FREE_KEYS, FleetSource, InitialModel, Scenario};

use crate::error::RunError;
use crate::replay::{Clock, Replayed, replay};
use crate::setup::plan_for;

pub use crate::replay::CLOCK_KEYS;

/// What a run took, and what it takes on its new clock.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Retimed {
    /// The rounds of the run.
    pub rounds: u64,
    /// The virtual time of the run before.
    pub secs_before: f64,
    /// The virtual time on the new clock.
    pub secs: f64,
}

/// Writes the run in `from` to `out` as it would have been with other clock keys, each `SECTION.KEY=VALUE`. A run whose
/// rounds or models would have been others is refused with the reason.
pub fn retime(from: &Path, overrides: &[String], out: &Path) -> Result<Retimed, RunError> {
    let refuse = |reason: String| RunError::CannotRetime { folder: from.display().to_string(), reason };
    for text in overrides {
        let key = text.split('=').next().unwrap_or_default().trim();
        if !CLOCK_KEYS.contains(&key) {
            return Err(refuse(format!("{key} changes more than the clock")));
        }
    }
    if !from.join(RECORDS).exists() {
        return Err(RecordError::folder(from, FolderProblem::NoRun).into());
    }
    let records = reader::read(&from.join(RECORDS))?;
    let (before, scenario) = scenarios(&from.join(RUN), overrides)?;
    if let FleetSource::Generated(fleet) = &scenario.fleet
        && fleet.sample_work != Gflop::ZERO
        && scenario.data.weights != Weights::Samples
    {
        let reason = "compute times follow the numbers of samples (fleet.sample_work_gflop), and its fleet.csv has \
                      weights in their place (data.weights)";
        return Err(refuse(reason.to_owned()));
    }
    let stored = stored_fleet(from)?;
    let fleet = timed_fleet(&scenario, &stored)?;
    let constants = Some(scenario.plan.constants);
    let (old, planned) = (plan_for(&stored, &before, constants)?, plan_for(&fleet, &scenario, constants)?);
    let before = Clock { scenario: &before, fleet: &stored, planned: &old };
    let now = Clock { scenario: &scenario, fleet: &fleet, planned: &planned };
    let retimed = match replay(&records, &before, &now)? {
        Replayed::Same(retimed) => retimed,
        Replayed::Other(reason) => return Err(refuse(reason)),
    };
    write(from, &retimed, &now, scenario.stored(), out)?;
    let secs_of = |records: &Records| records.end.as_ref().map_or(0.0, |end| end.secs);
    Ok(Retimed {
        rounds: retimed.rounds.len() as u64,
        secs_before: secs_of(&records),
        secs: secs_of(&retimed),
    })
}

/// Writes retimed records to a folder, beside the models of the run in `from`. The folder is whole or it does not exist.
pub(crate) fn write(
    from: &Path,
    records: &Records,
    clock: &Clock<'_>,
    run: String,
    out: &Path,
) -> Result<(), RunError> {
    if out.join(RUN).exists() {
        return Err(RecordError::folder(out, FolderProblem::Occupied).into());
    }
    let beside = beside(out);
    others::refuse(out, |_| false)?;
    // What a retiming that was killed has left is ours.
    if !beside.join(LOCK).exists() {
        others::refuse(&beside, |_| false)?;
    }
    if beside.exists() {
        std::fs::remove_dir_all(&beside).map_err(unreadable(&beside))?;
    }
    let mut fleet = Vec::new();
    // Memory takes whatever is written to it.
    let _ = csv_file::write(clock.fleet, &mut fleet);
    let plan = clock.planned.schedule.csv(clock.fleet);
    let header = records.header.clone();
    let contents =
        Contents { run, free_keys: FREE_KEYS, caps: Caps::NONE, fleet, plan, header, copies: Vec::new() };
    let (mut folder, _) = RunFolder::open(&beside, &contents, false)?;
    copy_models(from, &folder)?;
    records.initial.iter().try_for_each(|initial| folder.append_initial(initial.clone()))?;
    records.rounds.iter().try_for_each(|round| folder.append(round.clone()))?;
    if let Some(end) = &records.end {
        // With the last checkpoint, a run that ended at a cap can be resumed with a higher one.
        let last = last_checkpoint(from)?.filter(|checkpoint| checkpoint.round == end.rounds);
        last.map_or(Ok(()), |last| folder.checkpoint(Checkpoint { secs: end.secs, ..last }))?;
        folder.end(end.clone(), &std::fs::read(from.join(MODEL)).map_err(unreadable(&from.join(MODEL)))?)?;
    }
    std::fs::rename(&beside, out).map_err(unreadable(out))
}

/// Where a folder is written before it gets its name.
fn beside(out: &Path) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}.retiming"))
}

/// The stored scenario, and the same with other keys.
fn scenarios(run: &Path, overrides: &[String]) -> Result<(Scenario, Scenario), RunError> {
    let (before, mut scenario) = (Scenario::read(run, &[])?, Scenario::read(run, overrides)?);
    // A stored scenario holds every key, those too that follow others.
    let is_given = overrides.iter().any(|text| text.trim_start().starts_with("downlink.bandwidth_mbps"));
    if before.costs.download_bandwidth == before.bandwidth && !is_given {
        scenario.costs.download_bandwidth = scenario.bandwidth;
    }
    Ok((before, scenario))
}

fn stored_fleet(from: &Path) -> Result<Fleet, RunError> {
    let path = from.join(FLEET);
    let file = std::fs::File::open(&path).map_err(unreadable(&path))?;
    Ok(csv_file::read(file, &path.display().to_string())?)
}

/// The times of the scenario's fleet, with the data of the stored one.
fn timed_fleet(scenario: &Scenario, stored: &Fleet) -> Result<Fleet, RunError> {
    if let FleetSource::File { fleet, .. } = &scenario.fleet {
        return Ok(fleet.with_samples_of(stored)?);
    }
    let names: Vec<&str> = (0..stored.len()).map(|device| stored.name(device)).collect();
    // Compute times may follow the counts.
    let counts: Vec<usize> = stored.samples().iter().map(|&count| count.max(1.0) as usize).collect();
    Ok(scenario.fleet(&counts)?.with_samples_of(stored)?.renamed(&names)?)
}

/// The models and files that do not depend on the clock.
fn copy_models(from: &Path, folder: &RunFolder) -> Result<(), RunError> {
    for name in [BEST, WEIGHTS, InitialModel::COPY] {
        let path = from.join(name);
        if path.exists() {
            folder.write(name, &std::fs::read(&path).map_err(unreadable(&path))?)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> RunError {
    let path = path.display().to_string();
    move |source| RunError::Open { path: path.clone(), source }
}
