//! What `fedflip serve` refuses before it listens.

use std::path::{Path, PathBuf};

use fedflip_engine::Aggregation;
use fedflip_learn::task::Source;
use fedflip_net::NetError;
use fedflip_net::door::SERVER_FILES;
use fedflip_net::state::STATE;
use fedflip_net::wire::limits::SUMS_MAX;
use fedflip_net::wire::sums::DeclaredSums;
use fedflip_record::folder::{RECORDS, RUN};
use fedflip_run::deployed;
use fedflip_scenario::{Scenario, Where};
use tracing::warn;

use crate::error::CliError;

/// Refuses what is only for simulations, and warns of keys that real devices do not use.
pub(super) fn check_for_devices(scenario: &Scenario, pilots: bool) -> Result<(), CliError> {
    let scheme = &scenario.plan.scheme;
    if scheme.method().buffer().is_some() {
        return Err(CliError::usage(
            format!("plan.scheme: {scheme} has no rounds, and a server with real devices works in rounds"),
            "serve a scheme with coins, such as auto or fixed=0.2; `fedflip run` simulates the others",
        ));
    }
    if !scheme.method().flips_coins() {
        return Err(CliError::usage(
            format!(
                "plan.scheme: {scheme} draws cohorts on the server, and real devices flip their own coins"
            ),
            "serve a scheme with coins, such as auto or fixed=0.2; `fedflip run` simulates the others",
        ));
    }
    if pilots && scenario.target().is_none() {
        return Err(CliError::usage(
            "--pilots: pilots end at a loss, and the server cannot evaluate an external task",
            "leave it out: the scheme auto needs no pilots; others take plan.alpha and plan.beta",
        ));
    }
    if matches!(scenario.task.source(), Source::Own) && scenario.data.own.place == Where::Here {
        return Err(CliError::usage(
            format!("data.where = \"here\": devices hold the samples of the task {}", scenario.task.name()),
            "set data.where = \"devices\": each device joins with files of its own (--data)",
        ));
    }
    if scenario.device_evaluation().is_some()
        && !DeclaredSums::of_task(&deployed::offered(scenario)?).fit_a_message()
    {
        return Err(CliError::usage(
            format!(
                "evaluate.where = \"devices\": the metrics of this number of classes need more than {SUMS_MAX} sums, the most \
                 that a device may report"
            ),
            "set evaluate.where = \"server\" and data.test, or use at most 1,000 classes",
        ));
    }
    if scenario.round.aggregation == Aggregation::CohortMean {
        return Err(CliError::usage(
            "round.aggregation = \"cohort-mean\" is there for simulated comparisons only",
            "leave it out: on devices updates are added up without bias",
        ));
    }
    let unused = scenario.unused_on_devices()?;
    if !unused.is_empty() {
        warn!(keys = unused.join(", "), "the scenario has keys that are not used on real devices");
    }
    Ok(())
}

/// What is in a folder that is no run is somebody else's. A new disk may have something hidden, or what its system
/// puts there; what there is of a run without its state is refused with better words when it is opened.
pub(super) fn refuse_another_folder(out: &Path) -> Result<(), CliError> {
    let ours = [STATE, RUN, RECORDS].iter().any(|name| out.join(name).exists());
    let entries = if ours { None } else { std::fs::read_dir(out).ok() };
    let strange = entries.into_iter().flatten().flatten().map(|entry| entry.file_name()).find(|name| {
        let name = name.to_string_lossy();
        !name.starts_with('.') && name != "lost+found"
    });
    match strange {
        Some(name) => Err(CliError::usage(
            format!("--out: {} is not a run folder (found {:?})", out.display(), name.to_string_lossy()),
            "name a new folder, or the folder of a run to resume",
        )),
        None => Ok(()),
    }
}

/// The folder, if it holds what a server needs of an authority.
pub(super) fn with_authority(folder: &Path) -> Result<PathBuf, CliError> {
    let missing: Vec<&str> = SERVER_FILES.into_iter().filter(|name| !folder.join(name).exists()).collect();
    match missing.len() {
        0 => Ok(folder.to_owned()),
        some if some < SERVER_FILES.len() => Err(CliError::usage(
            format!("--certs: {} lacks {}", folder.display(), missing.join(", ")),
            "copy ca.pem, revoked.pem, revoked.json and server/ from the folder of the authority, in which \
             `fedflip certs list` writes a missing revoked.json",
        )),
        _ => Err(NetError::NoAuthority { folder: folder.display().to_string() }.into()),
    }
}

/// By default the fleet of the scenario: a larger `--devices-max` makes room for others, and waits for none of them.
pub(super) fn devices_min(asked: Option<u32>, devices: usize, devices_max: usize) -> Result<usize, CliError> {
    let Some(least) = asked else { return Ok(devices.min(devices_max)) };
    let wanted = format!("at most the number of devices, which is {devices_max}");
    CliError::in_range("--devices-min", f64::from(least), 0.0..=devices_max as f64, &wanted)?;
    Ok(least as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_more_devices_is_no_reason_to_wait_for_them() {
        let least = |asked, devices, most| devices_min(asked, devices, most).ok();
        assert_eq!(least(None, 3, 8), Some(3));
        assert_eq!(least(None, 3, 2), Some(2));
        assert_eq!(least(Some(5), 3, 8), Some(5));
        assert_eq!(least(Some(9), 3, 8), None);
    }
}
