//! From all runs to groups, schemes and seeds, with their names and their pilots.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fedflip_record::folder::RUN;

use crate::collection::{Group, SchemeRuns};
use crate::comparable::{Comparable, by_setting};
use crate::config::Config;
use crate::devices::Devices;
use crate::problem::Problem;
use crate::run_view::RunView;
use crate::standing::Standing;

/// All groups of the runs, each with its pilots.
pub(crate) fn group(runs: Vec<RunView>, pilots: Vec<RunView>, problems: &mut Vec<Problem>) -> Vec<Group> {
    let mut comparable = by_setting(runs);
    // Pilots alone are worth a look too.
    if comparable.is_empty()
        && let Some(pilot) = pilots.first()
    {
        let (task, setting) = (pilot.header.task.clone(), pilot.config.setting());
        comparable.push(Comparable { task, setting, runs: Vec::new() });
    }
    let labels = labels(&comparable);
    let mut groups: Vec<Group> = comparable
        .into_iter()
        .zip(labels)
        .map(|(Comparable { setting, runs, .. }, label)| {
            let schemes = by_scheme(runs, problems);
            Group { label, setting, schemes, pilots: Vec::new() }
        })
        .collect();
    groups.sort_by(|a, b| by_label(a).cmp(&by_label(b)));
    if let [only] = groups.as_mut_slice() {
        only.label.clear();
    }
    add_pilots(&mut groups, pilots, problems);
    groups
}

/// What sets each group apart: the keys in which groups differ, with their values.
fn labels(groups: &[Comparable]) -> Vec<Vec<(String, String)>> {
    let named: Vec<Config> = groups.iter().map(named).collect();
    let settings: Vec<&Config> = named.iter().filter(|setting| !setting.is_empty()).collect();
    let simulated = groups.iter().filter(|group| !group.setting.on_devices()).count();
    let both_worlds = simulated > 0 && simulated < groups.len();
    let keys = Config::deciding_differences(&settings);
    let label = |(group, setting): (&Comparable, &Config)| {
        let task = ("task".to_owned(), group.task.clone());
        let value = |key: &String| setting.get(key).unwrap_or("not set").to_owned();
        let mut label = match group.setting.is_empty() {
            true => vec![task, (RUN.to_owned(), "missing".to_owned())],
            false if keys.is_empty() && !both_worlds => vec![task],
            false => keys.iter().map(|key| (key.clone(), value(key))).collect(),
        };
        if both_worlds {
            let world = if group.setting.on_devices() { "real" } else { "simulated" };
            label.push(("devices".to_owned(), world.to_owned()));
        }
        label
    };
    groups.iter().zip(&named).map(label).collect()
}

/// A group's setting with the preset that all its runs have, if there is one.
fn named(group: &Comparable) -> Config {
    let mut named = group.runs.iter().map(|run| group.setting.with_preset_of(&run.config));
    let first = named.next().filter(|first| named.all(|other| other == *first));
    first.unwrap_or_else(|| group.setting.clone())
}

/// Each pilot to the groups of its setting.
fn add_pilots(groups: &mut [Group], pilots: Vec<RunView>, problems: &mut Vec<Problem>) {
    let settings: Vec<Config> = groups.iter().map(|group| group.setting.pilot_setting()).collect();
    let mut placed: BTreeSet<PathBuf> = BTreeSet::new();
    for pilot in pilots {
        let setting = pilot.config.pilot_setting();
        let mut homes: Vec<usize> = (0..groups.len()).filter(|&place| settings[place] == setting).collect();
        if homes.is_empty() {
            problems.push(Problem::new(&pilot.folder, "a pilot of a setting that no run here has"));
        }
        // Where several would fit, pilots belong to the runs that they lie beside: comparison/{pilots,runs}.
        let beside = pilot.folder.parent().and_then(Path::parent).map(Path::to_owned);
        let near = |group: &Group| {
            beside.as_ref().is_some_and(|beside| group.runs().any(|run| run.folder.starts_with(beside)))
        };
        if homes.iter().any(|&place| near(&groups[place])) {
            homes.retain(|&place| near(&groups[place]));
            placed.insert(pilot.folder.clone());
        }
        homes.into_iter().for_each(|place| groups[place].pilots.push(pilot.clone()));
    }
    for group in groups {
        group.pilots = once_each(std::mem::take(&mut group.pilots), |copy, first| {
            // In a sweep over what does not concern pilots there is a copy at every point, and nothing is wrong.
            if ![copy, first].iter().all(|pilot| placed.contains(&pilot.folder)) {
                tell(problems, left_out(copy, first));
            }
        });
    }
}

/// Once, also of what several groups show.
fn tell(problems: &mut Vec<Problem>, problem: Problem) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The order of groups: by numbers where values are numbers, and by words.
fn by_label(group: &Group) -> Vec<(u64, &str)> {
    let order = |value: &str| {
        let number: f64 = value.parse().unwrap_or(f64::INFINITY);
        // The bits of floats, turned so that they sort as the floats do.
        let bits = number.to_bits();
        if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
    };
    group.label.iter().map(|(_, value)| (order(value), value.as_str())).collect()
}

/// Of two with the same scheme and seed, the one that went on for longer; the other one is told of.
fn once_each(mut runs: Vec<RunView>, mut tell: impl FnMut(&RunView, &RunView)) -> Vec<RunView> {
    let key = |run: &RunView| (run.config.pilot_setting(), run.header.scheme.clone(), run.header.seed);
    runs.sort_by_cached_key(|run| (key(run), std::cmp::Reverse(run.summary.rounds)));
    runs.dedup_by(|again, first| {
        let same = key(again) == key(first);
        if same {
            tell(again, first);
        }
        same
    });
    runs
}

fn left_out(copy: &RunView, first: &RunView) -> Problem {
    Problem::new(&copy.folder, &format!("left out: the same run as {}", first.folder.display()))
}

fn by_scheme(runs: Vec<RunView>, problems: &mut Vec<Problem>) -> Vec<SchemeRuns> {
    let mut schemes: Vec<(String, Vec<RunView>)> = Vec::new();
    for run in runs {
        let name = run.header.scheme.clone();
        match schemes.iter_mut().find(|(scheme, _)| *scheme == name) {
            Some((_, runs)) => runs.push(run),
            None => schemes.push((name, vec![run])),
        }
    }
    let mut schemes: Vec<SchemeRuns> = schemes
        .into_iter()
        .map(|(scheme, runs)| {
            let runs = once_each(runs, |copy, first| tell(problems, left_out(copy, first)));
            let standing = Standing::of(&runs.iter().map(|run| &run.summary).collect::<Vec<_>>());
            let read = runs.first().map(|run| Devices::read(&run.folder, &run.config));
            let devices = match read {
                Some(Ok(devices)) => Some(devices),
                Some(Err(problem)) => {
                    tell(problems, problem);
                    None
                }
                None => None,
            };
            SchemeRuns { scheme, runs, standing, devices }
        })
        .collect();
    schemes.sort_by(|a, b| {
        let ((a_rank, a_hours), (b_rank, b_hours)) = (rank(a), rank(b));
        a_rank.cmp(&b_rank).then(a_hours.total_cmp(&b_hours)).then_with(|| a.scheme.cmp(&b.scheme))
    });
    schemes
}

/// Whole results first, then lower bounds, then diverged ones; each by hours.
fn rank(scheme: &SchemeRuns) -> (u8, f64) {
    let standing = &scheme.standing;
    let hours = standing.hours.map_or(f64::INFINITY, |hours| hours.mean);
    (if standing.diverged > 0 { 2 } else { u8::from(!standing.is_whole()) }, hours)
}
