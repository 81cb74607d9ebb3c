//! What is refused before a server listens.

use std::path::{Path, PathBuf};

use fedflip_engine::Aggregation;
use fedflip_learn::task::Source;
use fedflip_net::NetError;
use fedflip_net::door::SERVER_FILES;
use fedflip_net::state::STATE;
use fedflip_net::wire::sums::DeclaredSums;
use fedflip_record::folder::{RECORDS, RUN};
use fedflip_record::others;
use fedflip_scenario::{Scenario, Where};
use tracing::warn;

use super::error::DeployError;
use super::offer::offered;
use crate::error::RunError;

/// Refuses what is only for simulations, and warns of keys that real devices do not use. `evaluates` says whether the
/// caller evaluates models instead of the task's own learner.
pub(super) fn check_for_devices(scenario: &Scenario, evaluates: bool, pilots: bool) -> Result<(), RunError> {
    let scheme = &scenario.plan.scheme;
    if scheme.method().buffer().is_some() {
        return Err(DeployError::NoRounds { scheme: scheme.clone() }.into());
    }
    if !scheme.method().flips_coins() {
        return Err(DeployError::DrawsCohorts { scheme: scheme.clone() }.into());
    }
    let is_unknown = scenario.task.is_external() && !evaluates;
    if let Some(target) = scenario.target().filter(|_| is_unknown) {
        return Err(DeployError::NoEvaluator { metric: target.metric.clone() }.into());
    }
    if pilots && is_unknown {
        return Err(DeployError::NoLoss { evaluates }.into());
    }
    if scenario.task.is_external() && scenario.server.update_norm_max.is_none() {
        return Err(DeployError::NoUpdateNorm.into());
    }
    if matches!(scenario.task.source(), Source::Own) && scenario.data.own.place == Where::Here {
        return Err(DeployError::DataHere { task: scenario.task.name() }.into());
    }
    if scenario.device_evaluation().is_some() {
        if evaluates {
            return Err(DeployError::TwoEvaluators.into());
        }
        if !DeclaredSums::of_task(&offered(scenario)?).fit_a_message() {
            return Err(DeployError::TooManySums.into());
        }
    }
    if scenario.round.aggregation == Aggregation::CohortMean {
        return Err(DeployError::CohortMean.into());
    }
    let unused = scenario.unused_on_devices()?;
    if !unused.is_empty() {
        warn!(keys = unused.join(", "), "the scenario has keys that are not used on real devices");
    }
    Ok(())
}

/// What is in a folder that is no run is somebody else's. What there is of a run without its state is refused with better
/// words when it is opened.
pub(super) fn refuse_another_folder(out: &Path) -> Result<(), DeployError> {
    let ours = [STATE, RUN, RECORDS].iter().any(|name| out.join(name).exists());
    let found = if ours { None } else { others::found_in(out, |_| false) };
    let folder = || out.display().to_string();
    found.map_or(Ok(()), |found| Err(DeployError::NotARun { folder: folder(), found }))
}

/// The folder, if it holds what a server needs of an authority.
pub fn with_authority(folder: &Path) -> Result<PathBuf, RunError> {
    let missing: Vec<&str> = SERVER_FILES.into_iter().filter(|name| !folder.join(name).exists()).collect();
    let name = folder.display().to_string();
    match missing.len() {
        0 => Ok(folder.to_owned()),
        some if some < SERVER_FILES.len() => {
            Err(DeployError::AuthorityLacks { folder: name, missing }.into())
        }
        _ => Err(NetError::NoAuthority { folder: name }.into()),
    }
}
