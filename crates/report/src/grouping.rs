//! From all runs to groups, schemes and seeds, with their names and their pilots.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fedflip_plan::Scheme;
use fedflip_record::folder::{PLAN, RUN};

use crate::collection::{Group, SchemeRuns};
use crate::comparable::{Comparable, by_setting};
use crate::config::Config;
use crate::devices::Devices;
use crate::problem;
use crate::run_view::RunView;
use crate::standing::Standing;

/// All groups of the runs, each with its pilots.
pub(crate) fn group(runs: Vec<RunView>, pilots: Vec<RunView>, problems: &mut Vec<String>) -> Vec<Group> {
    let mut comparable = by_setting(runs);
    // Pilots alone are worth a look too.
    if comparable.is_empty()
        && let Some(pilot) = pilots.first()
    {
        let (task, setting) = (pilot.header.task.clone(), pilot.config.setting(&[]));
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
    groups.sort_by(by_label);
    if let [only] = groups.as_mut_slice() {
        only.label.clear();
    }
    add_pilots(&mut groups, pilots, problems);
    groups
}

/// What sets each group apart: the keys in which groups differ, with their values.
fn labels(groups: &[Comparable]) -> Vec<Vec<(String, String)>> {
    let settings = groups.iter().map(|group| &group.setting).filter(|setting| !setting.is_empty());
    let simulated = groups.iter().filter(|group| !group.setting.on_devices()).count();
    let both_worlds = simulated > 0 && simulated < groups.len();
    let keys = Config::deciding_differences(&settings.collect::<Vec<_>>());
    let label = |group: &Comparable| {
        let task = ("task".to_owned(), group.task.clone());
        let value = |key: &String| group.setting.get(key).unwrap_or("not set").to_owned();
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
    groups.iter().map(label).collect()
}

/// Each pilot to the groups of its setting.
fn add_pilots(groups: &mut [Group], pilots: Vec<RunView>, problems: &mut Vec<String>) {
    let settings: Vec<Config> = groups.iter().map(|group| group.setting.pilot_setting()).collect();
    let mut placed: BTreeSet<PathBuf> = BTreeSet::new();
    for pilot in pilots {
        let setting = pilot.config.pilot_setting();
        let mut homes: Vec<usize> = (0..groups.len()).filter(|&place| settings[place] == setting).collect();
        if homes.is_empty() {
            problems.push(problem::about(&pilot.folder, "a pilot of a setting that no run here has"));
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
fn tell(problems: &mut Vec<String>, problem: String) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The order of groups: by numbers where values are numbers, and by words.
fn by_label(a: &Group, b: &Group) -> Ordering {
    let order = |a: &str, b: &str| {
        let [x, y] = [a, b].map(|value| value.parse().unwrap_or(f64::INFINITY));
        x.total_cmp(&y).then_with(|| a.cmp(b))
    };
    let pairs = a.label.iter().zip(&b.label);
    let by_values = pairs.map(|(a, b)| order(&a.1, &b.1)).fold(Ordering::Equal, Ordering::then);
    by_values.then(a.label.len().cmp(&b.label.len()))
}

/// Of two with the same scheme and seed, the one with more rounds; the other one is told of.
fn once_each(mut runs: Vec<RunView>, mut tell: impl FnMut(&RunView, &RunView)) -> Vec<RunView> {
    let key = |run: &RunView| {
        (run.config.pilot_setting(), run.header.scheme.clone(), given_plan(run), run.header.seed)
    };
    runs.sort_by_cached_key(|run| (key(run), std::cmp::Reverse(run.summary().rounds)));
    runs.dedup_by(|again, first| {
        let same = key(again) == key(first);
        if same {
            tell(again, first);
        }
        same
    });
    runs
}

fn left_out(copy: &RunView, first: &RunView) -> String {
    problem::about(&copy.folder, &format!("left out: the same run as {}", first.folder.display()))
}

/// The probabilities of a scheme that takes them from a file: two files of one name are two schemes. On real devices the
/// plan of a run changes, and does not tell runs apart.
fn given_plan(run: &RunView) -> Option<Vec<u8>> {
    let is_given = Scheme::file_name(&run.header.scheme).is_some() && !run.is_deployed();
    // A plan that cannot be read is reported where the devices are.
    is_given.then(|| std::fs::read(run.folder.join(PLAN)).unwrap_or_default())
}

fn by_scheme(runs: Vec<RunView>, problems: &mut Vec<String>) -> Vec<SchemeRuns> {
    let mut schemes: BTreeMap<(String, Option<Vec<u8>>), Vec<RunView>> = BTreeMap::new();
    for run in runs {
        schemes.entry((run.header.scheme.clone(), given_plan(&run))).or_default().push(run);
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let of_scheme = |((scheme, _), runs): ((String, _), Vec<RunView>)| {
        let number = names.entry(scheme.clone()).or_default();
        *number += 1;
        let scheme = if *number == 1 { scheme } else { format!("{scheme} ({number})") };
        let runs = once_each(runs, |copy, first| tell(problems, left_out(copy, first)));
        let going_on = runs.iter().filter(|run| run.is_going_on()).count();
        let standing = Standing::of(&runs.iter().map(RunView::summary).collect::<Vec<_>>());
        let standing = Standing { going_on, ..standing };
        let devices = devices(&runs).and_then(|read| read.map_err(|problem| tell(problems, problem)).ok());
        SchemeRuns { scheme, runs, standing, devices }
    };
    let mut schemes: Vec<SchemeRuns> = schemes.into_iter().map(of_scheme).collect();
    // Equals stay in the order of their names.
    schemes.sort_by(|a, b| {
        let ((a_rank, a_hours), (b_rank, b_hours)) = (rank(a), rank(b));
        a_rank.cmp(&b_rank).then(a_hours.total_cmp(&b_hours))
    });
    schemes
}

/// The devices of a scheme's first run. The plan in a folder is the last one: there is nothing to compare it with where a
/// run is shown only until an earlier plan.
fn devices(runs: &[RunView]) -> Option<Result<Devices, String>> {
    let later = runs.iter().find(|run| run.replanned_later).map(|run| {
        let what =
            "its plan was replaced after the report's target, so participation under this plan is left out";
        Err(problem::about(&run.folder, what))
    });
    later.or_else(|| runs.first().map(|run| Devices::read(&run.folder, &run.config)))
}

/// Whole results first, then lower bounds, then diverged ones; each by hours.
fn rank(scheme: &SchemeRuns) -> (u8, f64) {
    let standing = &scheme.standing;
    let hours = standing.hours.map_or(f64::INFINITY, |hours| hours.mean);
    (if standing.diverged > 0 { 2 } else { u8::from(!standing.is_whole()) }, hours)
}
