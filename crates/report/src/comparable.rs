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
    let mut settings: BTreeMap<(String, Config), Vec<RunView>> = BTreeMap::new();
    for run in runs {
        settings.entry((run.header.task.clone(), run.config.setting())).or_default().push(run);
    }
    let all = settings.into_iter().map(|((task, setting), runs)| Comparable { task, setting, runs });
    all.flat_map(by_constants).flat_map(by_caps).collect()
}

impl Comparable {
    /// Splits the runs by the values that they have of some keys.
    fn split_by(self, keys: &BTreeSet<String>, config: impl Fn(&RunView) -> Config) -> Vec<Self> {
        let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
        for run in self.runs {
            parts.entry(self.setting.with(&config(&run), keys)).or_default().push(run);
        }
        let part = |(setting, runs)| Self { task: self.task.clone(), setting, runs };
        parts.into_iter().map(part).collect()
    }
}

/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so theirs
/// make no difference.
fn by_constants(group: Comparable) -> Vec<Comparable> {
    let used = |run: &RunView| run.config.setting_with_constants(run.used_constants());
    let planned: BTreeSet<Config> =
        group.runs.iter().filter(|run| needs_pilots(&run.header.scheme)).map(used).collect();
    if planned.len() < 2 { vec![group] } else { group.split_by(&Config::constants(), used) }
}

/// The same run with another cap is another point of a sweep, and no copy. Caps that differ between schemes alone make
/// no difference: a comparison gives up on a scheme by its cap.
fn by_caps(group: Comparable) -> Vec<Comparable> {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut first: BTreeMap<(&str, u64), &Config> = BTreeMap::new();
    for run in &group.runs {
        let known = first.entry((&run.header.scheme, run.header.seed)).or_insert(&run.config);
        keys.extend(Config::differences(&[known, &run.config]).into_iter().filter(|key| Config::is_cap(key)));
    }
    if keys.is_empty() { vec![group] } else { group.split_by(&keys, |run| run.config.clone()) }
}
