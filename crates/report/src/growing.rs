//! Which runs belong together: a group for each setting, and for each point of a sweep.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::config::Config;
use crate::pilots::needs_pilots;
use crate::run_view::RunView;

const NOT_SET: &str = "not set";

/// A group as it grows.
#[derive(Debug)]
pub(crate) struct Growing {
    pub task: String,
    /// What its runs share.
    pub setting: Config,
    /// The setting of the scheme in it that brings more than its q.
    pub brought: Option<Config>,
    pub runs: Vec<RunView>,
}

impl Growing {
    /// The same group with some of its runs.
    fn with(&self, setting: Config, runs: Vec<RunView>) -> Self {
        Self { task: self.task.clone(), setting, brought: self.brought.clone(), runs }
    }

    /// Whether a run could be in it if its scheme may bring more than its q.
    fn is_near(&self, run: &RunView) -> bool {
        self.task == run.header.task
            && self.setting.without_brought() == run.config.setting().without_brought()
    }

    /// Its value of a key. What a scheme brings may be known to its own runs only.
    pub(crate) fn value(&self, key: &str) -> &str {
        let of_run = || self.runs.iter().find_map(|run| run.config.get(key));
        self.setting.get(key).or_else(of_run).unwrap_or(NOT_SET)
    }

    /// The value that was brought to it.
    pub(crate) fn brought_value(&self, key: &str) -> &str {
        self.brought.as_ref().and_then(|brought| brought.get(key)).unwrap_or(NOT_SET)
    }

    fn lies_beside(&self, run: &RunView) -> bool {
        self.runs.iter().any(|other| other.folder.parent() == run.folder.parent())
    }
}

/// All groups.
pub(crate) fn grow(runs: Vec<RunView>) -> Vec<Growing> {
    let mut growing: Vec<Growing> = Vec::new();
    let (bringing, others): (Vec<RunView>, Vec<RunView>) =
        runs.into_iter().partition(|run| run.config.brings_its_own());
    let beside: Vec<Option<Config>> = others.iter().map(|run| brought_beside(run, &bringing)).collect();
    // In a sweep over what is brought alone, the others' runs are the same at every point, and what they lie beside
    // is all that tells their points apart. Runs that lie beside nothing of the kind fit wherever there is one place.
    let (placed, free): (Vec<_>, Vec<_>) =
        others.into_iter().zip(beside).partition(|(_, brought)| brought.is_some());
    for (run, brought) in placed.into_iter().chain(free) {
        let same =
            |group: &Growing| (&group.task, &group.setting) == (&run.header.task, &run.config.setting());
        let place = only(&growing, |group| same(group) && (brought.is_none() || group.brought == brought));
        put(&mut growing, place, run, brought);
    }
    // A scheme that brings more than its q is put beside others, so it comes last.
    for run in bringing {
        let brought = Some(run.config.setting());
        let near = |group: &Growing| group.is_near(&run) && group.brought == brought;
        let new = |group: &Growing| group.is_near(&run) && group.brought.is_none();
        let place = only(&growing, near)
            .or_else(|| only(&growing, |group| near(group) && group.lies_beside(&run)))
            .or_else(|| only(&growing, new))
            .or_else(|| only(&growing, |group| new(group) && group.lies_beside(&run)));
        put(&mut growing, place, run, brought);
    }
    growing.into_iter().flat_map(by_constants).flat_map(by_caps).collect()
}

/// What was brought to the comparison of a run: by whoever lies beside it, if all brought the same.
fn brought_beside(run: &RunView, bringing: &[RunView]) -> Option<Config> {
    let comparison = |run: &RunView| run.folder.parent().map(Path::to_owned);
    let setting = run.config.setting().without_brought();
    let settings: BTreeSet<Config> = bringing
        .iter()
        .filter(|other| other.header.task == run.header.task && comparison(other) == comparison(run))
        .map(|other| other.config.setting())
        .filter(|other| other.without_brought() == setting)
        .collect();
    let mut settings = settings.into_iter();
    settings.next().filter(|_| settings.next().is_none())
}

/// The place of the one group that fits; none if several do.
fn only(growing: &[Growing], fits: impl Fn(&Growing) -> bool) -> Option<usize> {
    let mut places = (0..growing.len()).filter(|&place| fits(&growing[place]));
    places.next().filter(|_| places.next().is_none())
}

/// Into the group at a place, or a new one.
fn put(growing: &mut Vec<Growing>, place: Option<usize>, run: RunView, brought: Option<Config>) {
    if let Some(group) = place.and_then(|place| growing.get_mut(place)) {
        group.brought = group.brought.take().or(brought);
        group.runs.push(run);
        return;
    }
    // A run without its scenario still has a task.
    let (task, setting) = (run.header.task.clone(), run.config.setting());
    growing.push(Growing { task, setting, brought, runs: vec![run] });
}

/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so
/// they make no difference by theirs.
fn by_constants(mut group: Growing) -> Vec<Growing> {
    let planned: BTreeSet<Config> = group
        .runs
        .iter()
        .filter(|run| needs_pilots(&run.header.scheme))
        .map(|run| run.config.setting_with_constants(run.used_constants()))
        .collect();
    if planned.len() < 2 {
        return vec![group];
    }
    let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
    for run in std::mem::take(&mut group.runs) {
        // What a scheme brings is no difference here either: the group's setting stays, but for the constants.
        let own = run.config.setting_with_constants(run.used_constants());
        parts.entry(group.setting.with_constants_of(&own)).or_default().push(run);
    }
    parts.into_iter().map(|(setting, runs)| group.with(setting, runs)).collect()
}

/// The same run with another cap is another point of a sweep, and no copy. Caps that differ between schemes alone
/// make no difference: a comparison gives up by them.
fn by_caps(mut group: Growing) -> Vec<Growing> {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut first: BTreeMap<(&str, u64), &Config> = BTreeMap::new();
    for run in &group.runs {
        let known = first.entry((&run.header.scheme, run.header.seed)).or_insert(&run.config);
        keys.extend(Config::differences(&[known, &run.config]).into_iter().filter(|key| Config::is_cap(key)));
    }
    if keys.is_empty() {
        return vec![group];
    }
    let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
    for run in std::mem::take(&mut group.runs) {
        parts.entry(group.setting.with(&run.config, &keys)).or_default().push(run);
    }
    parts.into_iter().map(|(setting, runs)| group.with(setting, runs)).collect()
}
