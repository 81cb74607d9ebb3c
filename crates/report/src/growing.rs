//! Which runs belong together, by their scenarios.
//!
//! Runs of one setting are a group. A scheme that brings more than its q, which is `auto`, differs from whoever it is
//! compared with in what it brings, and joins them all the same. Where it was run with several things brought, as in a
//! sweep over `plan.noise`, there is a group for each of them, and the others, whom that does not concern, are in all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::{BROUGHT, Config};
use crate::pilots::needs_pilots;
use crate::run_view::RunView;

/// The most runs that groups may have by showing some of them several times.
const SHOWN_MAX: usize = 10_000;

/// A group as it grows.
#[derive(Clone, Debug)]
pub(crate) struct Growing {
    pub task: String,
    /// What its runs share, but for what is brought.
    pub setting: Config,
    /// With what is brought, if the group is for that; this is what it is named by.
    pub named: Config,
    pub runs: Vec<RunView>,
    /// Whether other groups show some of its runs too.
    shared: bool,
}

impl Growing {
    pub(crate) fn new(task: String, setting: Config) -> Self {
        Self { task, named: setting.clone(), setting, runs: Vec::new(), shared: false }
    }

    /// Whether a scheme in it brings more than its q.
    pub(crate) fn has_brought(&self) -> bool {
        self.runs.iter().any(|run| run.config.brings_its_own())
    }

    /// What groups share that differ in what is brought alone.
    fn without_brought(&self) -> (String, Config) {
        (self.task.clone(), self.setting.without(BROUGHT))
    }

    fn lies_beside(&self, other: &Self) -> bool {
        let folders: BTreeSet<_> = self.runs.iter().filter_map(|run| run.folder.parent()).collect();
        other.runs.iter().filter_map(|run| run.folder.parent()).any(|folder| folders.contains(folder))
    }

    fn joined_by(mut self, guest: Self) -> Self {
        self.named = guest.setting;
        self.runs.extend(guest.runs);
        self
    }

    /// The groups of its runs by some keys, whose values become a part of the setting.
    fn split(self, value: impl Fn(&RunView) -> (Config, BTreeSet<String>)) -> Vec<Self> {
        let mut parts: BTreeMap<Config, Self> = BTreeMap::new();
        for run in self.runs {
            let (config, keys) = value(&run);
            let part = || Self {
                task: self.task.clone(),
                setting: self.setting.with(&config, &keys),
                named: self.named.with(&config, &keys),
                runs: Vec::new(),
                shared: self.shared,
            };
            parts.entry(self.setting.with(&config, &keys)).or_insert_with(part).runs.push(run);
        }
        parts.into_values().collect()
    }
}

/// All groups.
pub(crate) fn grow(runs: Vec<RunView>) -> Vec<Growing> {
    let (bringing, others): (Vec<RunView>, Vec<RunView>) =
        runs.into_iter().partition(|run| run.config.brings_its_own());
    let hosts = by_setting(others);
    let mut near: BTreeMap<(String, Config), Vec<usize>> = BTreeMap::new();
    for (place, host) in hosts.iter().enumerate() {
        near.entry(host.without_brought()).or_default().push(place);
    }
    let mut guests: Vec<Vec<Growing>> = hosts.iter().map(|_| Vec::new()).collect();
    let mut groups = Vec::new();
    for guest in by_setting(bringing) {
        let near = near.get(&guest.without_brought()).map_or(&[][..], Vec::as_slice);
        let beside = || near.iter().filter(|&&place| hosts[place].lies_beside(&guest));
        // Of several that would do, the one whose runs it lies beside.
        match only(near.iter()).or_else(|| only(beside())) {
            Some(&place) => guests[place].push(guest),
            None => groups.push(guest),
        }
    }
    groups.extend(hosts.into_iter().zip(guests).flat_map(|(host, guests)| with_guests(host, guests)));
    groups.into_iter().flat_map(by_constants).flat_map(by_caps).collect()
}

fn by_setting(runs: Vec<RunView>) -> Vec<Growing> {
    let mut groups: BTreeMap<(String, Config), Vec<RunView>> = BTreeMap::new();
    for run in runs {
        // A run without its scenario still has a task.
        groups.entry((run.header.task.clone(), run.config.setting())).or_default().push(run);
    }
    groups
        .into_iter()
        .map(|((task, setting), runs)| Growing { runs, ..Growing::new(task, setting) })
        .collect()
}

fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

/// A group for each guest, with the host's runs in all.
fn with_guests(host: Growing, mut guests: Vec<Growing>) -> Vec<Growing> {
    if guests.len() < 2 {
        return vec![match guests.pop() {
            Some(guest) => host.joined_by(guest),
            None => host,
        }];
    }
    let host = Growing { shared: true, ..without_copies(host) };
    if host.runs.len().saturating_mul(guests.len()) > SHOWN_MAX {
        guests.push(host);
        return guests;
    }
    guests.into_iter().map(|guest| host.clone().joined_by(guest)).collect()
}

/// At every point of a sweep over what is brought, the others' runs are the same, but for where the comparison gave up
/// on them: of such copies the one that went on for longest.
fn without_copies(mut host: Growing) -> Growing {
    let key = |run: &RunView| {
        let planned = run.config.setting_with_constants(run.used_constants());
        (run.header.scheme.clone(), run.header.seed, planned)
    };
    host.runs.sort_by_cached_key(|run| (key(run), Reverse(run.summary.rounds)));
    host.runs.dedup_by_key(|run| key(run));
    host
}

/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so
/// they make no difference by theirs.
fn by_constants(group: Growing) -> Vec<Growing> {
    let own = |run: &RunView| run.config.setting_with_constants(run.used_constants());
    let planned: BTreeSet<Config> =
        group.runs.iter().filter(|run| needs_pilots(&run.header.scheme)).map(own).collect();
    if planned.len() < 2 {
        return vec![group];
    }
    group.split(|run| (own(run), Config::constants()))
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
    if keys.is_empty() || group.shared {
        return vec![group];
    }
    group.split(|run| (run.config.clone(), keys.clone()))
}
