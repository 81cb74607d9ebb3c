//! Which runs belong together, by their scenarios: a group for each setting, and for each point of a sweep.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::{BROUGHT, Config, NOISES};
use crate::find_runs::RUNS_MAX;
use crate::pilots::needs_pilots;
use crate::run_view::RunView;

/// By which a comparison gives up on a scheme.
const GIVE_UP: &str = "stop.virtual_hours_max";

/// A group as it grows.
#[derive(Debug)]
pub(crate) struct Growing {
    pub task: String,
    /// What its runs share.
    pub setting: Config,
    pub runs: Vec<RunView>,
}

/// All groups.
pub(crate) fn grow(runs: Vec<RunView>) -> Vec<Growing> {
    let mut growing: Vec<Growing> = Vec::new();
    // A scheme that brings more than its q is put beside others, so they come first.
    let (bringing, others): (Vec<RunView>, Vec<RunView>) =
        runs.into_iter().partition(|run| run.config.brings_its_own());
    for run in others.into_iter().chain(bringing) {
        let setting = run.config.setting();
        match home(&mut growing, &run, &setting) {
            Some(group) => group.runs.push(run),
            None => growing.push(Growing::of(run, setting)),
        }
    }
    growing.into_iter().flat_map(by_constants).flat_map(by_noise).flat_map(by_caps).collect()
}

impl Growing {
    /// A run without its scenario still has a task.
    fn of(run: RunView, setting: Config) -> Self {
        Self { task: run.header.task.clone(), setting, runs: vec![run] }
    }

    /// Without runs.
    pub(crate) fn empty(task: String, setting: Config) -> Self {
        Self { task, setting, runs: Vec::new() }
    }

    /// The scenario of a scheme that brings more than its q, where there is one.
    pub(crate) fn brought(&self) -> Option<&Config> {
        self.bringing().next().map(|run| &run.config)
    }

    fn bringing(&self) -> impl Iterator<Item = &RunView> {
        self.runs.iter().filter(|run| run.config.brings_its_own())
    }

    /// A group for each value that its runs have of some keys.
    fn split_by(mut self, keys: &BTreeSet<String>, config: impl Fn(&RunView) -> Config) -> Vec<Self> {
        let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
        for run in std::mem::take(&mut self.runs) {
            // What a scheme brings is no difference here either: the group's setting stays, but for the keys.
            parts.entry(self.setting.with(&config(&run), keys)).or_default().push(run);
        }
        let part = |(setting, runs)| Self { task: self.task.clone(), setting, runs };
        parts.into_iter().map(part).collect()
    }
}

/// The group of a run: that of its setting. Where its scheme brings more than its q, else the one from which it differs
/// in that alone, if it has no runs of that scheme with something else brought than another noise; of several, the one
/// whose runs it lies beside.
fn home<'a>(growing: &'a mut [Growing], run: &RunView, setting: &Config) -> Option<&'a mut Growing> {
    let only = |fits: &dyn Fn(&Growing) -> bool| {
        let mut places = (0..growing.len()).filter(|&place| fits(&growing[place]));
        places.next().filter(|_| places.next().is_none())
    };
    let task = &run.header.task;
    let mut place = only(&|group| (&group.task, &group.setting) == (task, setting));
    if place.is_none() && run.config.brings_its_own() {
        let (plain, of_any_noise) = (setting.without(BROUGHT), setting.without(NOISES));
        let near = |group: &Growing| {
            group.task == *task
                && group.setting.without(BROUGHT) == plain
                // Those that are there agree in it.
                && group.bringing().next().is_none_or(|other| other.config.setting().without(NOISES) == of_any_noise)
        };
        let beside = |group: &Growing| {
            near(group) && group.runs.iter().any(|other| other.folder.parent() == run.folder.parent())
        };
        place = only(&near).or_else(|| only(&beside));
    }
    growing.get_mut(place?)
}

/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so
/// they make no difference by theirs.
fn by_constants(group: Growing) -> Vec<Growing> {
    let used = |run: &RunView| run.config.setting_with_constants(run.used_constants());
    let planned: BTreeSet<Config> =
        group.runs.iter().filter(|run| needs_pilots(&run.header.scheme)).map(used).collect();
    if planned.len() < 2 { vec![group] } else { group.split_by(&Config::constants(), used) }
}

/// How much noise is allowed concerns the scheme that has the key alone: where it was run with several, there is a
/// group for each, and the others' runs are in all of them. But if these have quiet rounds too, they are with those who have
/// the same.
fn by_noise(mut group: Growing) -> Vec<Growing> {
    let noise =
        |run: &RunView| NOISES.iter().map(|key| run.config.get(key).map(str::to_owned)).collect::<Vec<_>>();
    let noises: BTreeSet<Vec<Option<String>>> = group.bringing().map(noise).collect();
    let kinds = noises.len();
    if kinds < 2 {
        return vec![group];
    }
    let (bringing, others) =
        std::mem::take(&mut group.runs).into_iter().partition(|run| run.config.brings_its_own());
    let others = without_copies(others);
    let (task, setting) = (group.task.clone(), group.setting.clone());
    let mut groups = Growing { runs: bringing, ..group }
        .split_by(&NOISES.iter().map(ToString::to_string).collect(), |run| run.config.clone());
    // There is no sweep of that many, also counting those that are shown again; one group has them all the same.
    let shown_in = if others.len().saturating_mul(kinds) > RUNS_MAX { 1 } else { kinds };
    let fits = |group: &Growing| !setting.has_quiet_rounds() || setting.has_quiet_rounds_of(&group.setting);
    if !others.is_empty() && !groups.iter().any(fits) {
        groups.push(Growing { task, setting, runs: others });
        return groups;
    }
    for group in groups.iter_mut().filter(|group| fits(group)).take(shown_in) {
        group.runs.extend(others.iter().cloned());
    }
    groups
}

/// At every point of a sweep over the noise the others' runs are the same, but for where the comparison gave up on them: of
/// such copies the one that went on for longest.
fn without_copies(mut runs: Vec<RunView>) -> Vec<RunView> {
    // Two runs on real devices are never the same.
    let folder = |run: &RunView| run.config.on_devices().then(|| run.folder.clone());
    let key = |run: &RunView| {
        let config = run.config.without(&[GIVE_UP]);
        (run.header.scheme.clone(), run.header.seed, config, folder(run))
    };
    runs.sort_by_cached_key(|run| (key(run), Reverse((run.summary.reached(), run.summary.rounds))));
    runs.dedup_by(|again, first| key(again) == key(first));
    runs
}

/// The same run with another cap is another point of a sweep, and no copy. Caps that differ between schemes alone
/// make no difference: a comparison gives up by them.
fn by_caps(group: Growing) -> Vec<Growing> {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut first: BTreeMap<(&str, u64), &Config> = BTreeMap::new();
    for run in &group.runs {
        let known = first.entry((&run.header.scheme, run.header.seed)).or_insert(&run.config);
        keys.extend(Config::differences(&[known, &run.config]).into_iter().filter(|key| Config::is_cap(key)));
    }
    if keys.is_empty() { vec![group] } else { group.split_by(&keys, |run| run.config.clone()) }
}
