//! Which runs can be compared: from all runs to groups, schemes and seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fedflip_record::folder::RUN;

use crate::collection::{Group, SchemeRuns};
use crate::config::Config;
use crate::devices::Devices;
use crate::pilots::needs_pilots;
use crate::problem::Problem;
use crate::run_view::RunView;
use crate::standing::Standing;

/// A group as it grows: its task, what its runs share, and the runs.
type Growing = (String, Config, Vec<RunView>);

/// All groups of the runs, each with its pilots.
pub(crate) fn group(runs: Vec<RunView>, pilots: Vec<RunView>, problems: &mut Vec<Problem>) -> Vec<Group> {
    let mut growing: Vec<Growing> = Vec::new();
    // A scheme that brings more than its q is put beside others, so they come first.
    let (bringing, others): (Vec<RunView>, Vec<RunView>) =
        runs.into_iter().partition(|run| run.config.brings_its_own());
    for run in others.into_iter().chain(bringing) {
        match home(&mut growing, &run) {
            Some((_, _, runs)) => runs.push(run),
            // A run without its scenario still has a task.
            None => growing.push((run.header.task.clone(), run.config.setting(), vec![run])),
        }
    }
    let mut growing: Vec<Growing> = growing.into_iter().flat_map(by_constants).flat_map(by_caps).collect();
    // Pilots alone are worth a look too.
    if growing.is_empty()
        && let Some(pilot) = pilots.first()
    {
        growing.push((pilot.header.task.clone(), pilot.config.setting(), Vec::new()));
    }
    // A run without its scenario differs from the others in that alone.
    let known = growing.iter().map(|(_, setting, _)| setting).filter(|setting| !setting.is_empty());
    let keys = Config::differences(&known.collect::<Vec<_>>());
    let simulated = growing.iter().filter(|(_, setting, _)| !setting.on_devices()).count();
    let both = simulated > 0 && simulated < growing.len();
    let mut groups: Vec<Group> = growing
        .into_iter()
        .map(|(task, setting, runs)| {
            let value = |key: &String| {
                // What a scheme brings is known to its own runs only.
                let of_run = runs.iter().find_map(|run| run.config.get(key));
                (key.clone(), setting.get(key).or(of_run).unwrap_or("not set").to_owned())
            };
            let world = if setting.on_devices() { "real" } else { "simulated" };
            let mut label = match setting.is_empty() {
                false if !keys.is_empty() || both => keys.iter().map(value).collect::<Vec<_>>(),
                false => vec![("task".to_owned(), task)],
                true => vec![("task".to_owned(), task), (RUN.to_owned(), "missing".to_owned())],
            };
            if both {
                label.push(("devices".to_owned(), world.to_owned()));
            }
            let schemes = by_scheme(runs, problems);
            Group { label, setting, schemes, pilots: Vec::new() }
        })
        .collect();
    groups.sort_by(|a, b| by_label(a).cmp(&by_label(b)));
    if let [only] = groups.as_mut_slice() {
        only.label.clear();
    }
    for pilot in once_each(pilots, problems) {
        let setting = pilot.config.pilot_setting();
        let mut homes: Vec<&mut Group> =
            groups.iter_mut().filter(|group| group.setting.pilot_setting() == setting).collect();
        if homes.is_empty() {
            problems.push(Problem::new(&pilot.folder, "a pilot of a scenario that has no runs here"));
        }
        // Where several would fit, pilots belong to the runs that they lie beside: comparison/{pilots,runs}.
        let beside = pilot.folder.parent().and_then(Path::parent).map(Path::to_owned);
        let near = |group: &Group| {
            beside.as_ref().is_some_and(|beside| group.runs().any(|run| run.folder.starts_with(beside)))
        };
        if homes.iter().any(|group| near(group)) {
            homes.retain(|group| near(group));
        }
        homes.into_iter().for_each(|group| group.pilots.push(pilot.clone()));
    }
    groups
}

/// The group of a run: that of its setting. Where its scheme brings more than its q, else the one from which it differs
/// in that alone, if it has no runs of that scheme with something else; of several, the one whose runs it lies beside.
fn home<'a>(growing: &'a mut [Growing], run: &RunView) -> Option<&'a mut Growing> {
    let (task, setting) = (&run.header.task, run.config.setting());
    let only = |fits: &dyn Fn(&Growing) -> bool| {
        let mut places = (0..growing.len()).filter(|&place| fits(&growing[place]));
        places.next().filter(|_| places.next().is_none())
    };
    let same = |(t, s, _): &Growing| (t, s) == (task, &setting);
    let near = |(t, s, runs): &Growing| {
        let mut bringing = runs.iter().filter(|other| other.config.brings_its_own());
        t == task
            && s.without_brought() == setting.without_brought()
            && bringing.all(|other| other.config.setting() == setting)
    };
    let beside = |group: &Growing| {
        near(group) && group.2.iter().any(|other| other.folder.parent() == run.folder.parent())
    };
    let mut place = only(&same);
    if run.config.brings_its_own() {
        place = place.or_else(|| only(&near)).or_else(|| only(&beside));
    }
    growing.get_mut(place?)
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

/// Runs that were planned with other constants are not seeds of one another. Baselines need no constants, so
/// they make no difference by theirs.
fn by_constants((task, setting, runs): Growing) -> Vec<Growing> {
    let planned: BTreeSet<Config> = runs
        .iter()
        .filter(|run| needs_pilots(&run.header.scheme))
        .map(|run| run.config.setting_with_constants(run.used_constants()))
        .collect();
    if planned.len() < 2 {
        return vec![(task, setting, runs)];
    }
    let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
    for run in runs {
        // What a scheme brings is no difference here either: the group's setting stays, but for the constants.
        let own = run.config.setting_with_constants(run.used_constants());
        parts.entry(setting.with_constants_of(&own)).or_default().push(run);
    }
    parts.into_iter().map(|(setting, runs)| (task.clone(), setting, runs)).collect()
}

/// The same run with another cap is another point of a sweep, and no copy. Caps that differ between schemes alone
/// make no difference: a comparison gives up by them.
fn by_caps((task, setting, runs): Growing) -> Vec<Growing> {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut first: BTreeMap<(&str, u64), &Config> = BTreeMap::new();
    for run in &runs {
        let known = first.entry((&run.header.scheme, run.header.seed)).or_insert(&run.config);
        keys.extend(Config::differences(&[known, &run.config]).into_iter().filter(|key| Config::is_cap(key)));
    }
    if keys.is_empty() {
        return vec![(task, setting, runs)];
    }
    let mut parts: BTreeMap<Config, Vec<RunView>> = BTreeMap::new();
    for run in runs {
        parts.entry(setting.with(&run.config, &keys)).or_default().push(run);
    }
    parts.into_iter().map(|(setting, runs)| (task.clone(), setting, runs)).collect()
}

/// Of two with the same scheme and seed, the one that went on for longer.
fn once_each(mut runs: Vec<RunView>, problems: &mut Vec<Problem>) -> Vec<RunView> {
    let key = |run: &RunView| (run.config.pilot_setting(), run.header.scheme.clone(), run.header.seed);
    runs.sort_by_cached_key(|run| (key(run), std::cmp::Reverse(run.summary.rounds)));
    runs.dedup_by(|again, first| {
        let same = key(again) == key(first);
        if same {
            let what = format!("left out: the same run as {}", first.folder.display());
            problems.push(Problem::new(&again.folder, &what));
        }
        same
    });
    runs
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
            let runs = once_each(runs, problems);
            let standing = Standing::of(&runs.iter().map(|run| &run.summary).collect::<Vec<_>>());
            let read = runs.first().map(|run| Devices::read(&run.folder));
            let devices = match read {
                Some(Ok(devices)) => Some(devices),
                Some(Err(problem)) => {
                    problems.push(problem);
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
