//! Runs that can be compared: those whose settings are equal, apart from seed, scheme, caps and, for baselines, constants.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Config;
use crate::pilots::needs_pilots;
use crate::run_view::RunView;

/// Runs of one setting.
#[derive(Debug)]
pub(crate) struct Comparable {
    /// A run without its scenario still has a task.
    pub task: String,
    pub setting: Config,
    pub runs: Vec<RunView>,
}

/// All runs by their settings.
pub(crate) fn by_setting(runs: Vec<RunView>) -> Vec<Comparable> {
    let all = split(runs, |run| compared_config(run).setting(&[])).into_iter();
    all.flat_map(|Comparable { runs, .. }| {
        let keys = deciding_keys(&runs);
        split(runs, |run| planned_config(run).setting(&keys))
    })
    .collect()
}

fn split(runs: Vec<RunView>, setting: impl Fn(&RunView) -> Config) -> Vec<Comparable> {
    let mut settings: BTreeMap<(String, Config), Vec<RunView>> = BTreeMap::new();
    for run in runs {
        settings.entry((run.header.task.clone(), setting(&run))).or_default().push(run);
    }
    settings.into_iter().map(|((task, setting), runs)| Comparable { task, setting, runs }).collect()
}

/// The scenario of a run, without a target that another one replaces.
fn compared_config(run: &RunView) -> Config {
    match run.has_given_target {
        true => run.config.without_target(),
        false => run.config.clone(),
    }
}

/// The same with the constants that the run was planned with.
fn planned_config(run: &RunView) -> Config {
    let config = compared_config(run);
    match run.used_constants() {
        Some(used) => config.planned_with(used),
        None => config,
    }
}

/// The constants and caps that set apart runs which are equal otherwise.
///
/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so theirs make
/// no difference. The same run with another cap is another point of a sweep, and no copy. Caps that differ between
/// schemes alone make no difference: a comparison gives up on a scheme by its cap.
fn deciding_keys(runs: &[RunView]) -> Vec<String> {
    let configs: Vec<Config> = runs.iter().map(planned_config).collect();
    let all = || runs.iter().zip(&configs);
    let planned = all().filter(|(run, _)| needs_pilots(&run.header.scheme)).map(|(_, config)| config);
    let mut constants = Config::differences(&planned.collect::<Vec<_>>());
    constants.retain(|key| Config::is_constant(key));
    let mut caps: BTreeSet<String> = BTreeSet::new();
    let mut first = BTreeMap::new();
    for (run, config) in all() {
        let planned_with: Vec<Option<&str>> = constants.iter().map(|key| config.get(key)).collect();
        let known = first.entry((&run.header.scheme, run.header.seed, planned_with)).or_insert(config);
        caps.extend(Config::differences(&[known, config]).into_iter().filter(|key| Config::is_cap(key)));
    }
    constants.into_iter().chain(caps).collect()
}
