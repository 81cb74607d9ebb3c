//! All runs of a report: those that can be compared in one group, each scheme with its seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fedflip_record::folder::RUN;

use crate::config::Config;
use crate::devices::Devices;
use crate::error::ReportError;
use crate::find::run_folders;
use crate::numbers::{percent, significant};
use crate::pilots::needs_pilots;
use crate::problem::Problem;
use crate::run_view::RunView;
use crate::standing::Standing;

/// A scheme's runs, a seed each.
#[derive(Debug)]
pub struct SchemeRuns {
    /// Such as `exact`.
    pub scheme: String,
    /// By seed.
    pub runs: Vec<RunView>,
    /// Over the seeds.
    pub standing: Standing,
    /// Of the first run; none if they cannot be read.
    pub devices: Option<Devices>,
}

impl SchemeRuns {
    /// Of all seeds.
    pub fn rounds(&self) -> u64 {
        self.runs.iter().map(|run| run.summary.rounds).sum()
    }

    /// How often a device took part, over all seeds.
    pub fn participations(&self, device: usize) -> u64 {
        self.runs.iter().filter_map(|run| run.participations.get(device)).sum()
    }

    /// Of all seeds, under the plans that are in their folders.
    pub fn rounds_of_plan(&self) -> u64 {
        self.runs.iter().map(RunView::rounds_of_plan).sum()
    }

    /// How often a device took part in these.
    pub fn participations_of_plan(&self, device: usize) -> u64 {
        self.runs.iter().map(|run| run.participations_of_plan(device)).sum()
    }

    /// How often a device took part and did not report, over all seeds.
    pub fn lost(&self, device: usize) -> u64 {
        self.runs.iter().filter_map(|run| run.lost.get(device)).sum()
    }
}

/// Runs that differ in scheme and seed alone.
#[derive(Debug)]
pub struct Group {
    /// What sets it apart from the other groups: keys and values.
    pub label: Vec<(String, String)>,
    /// What its runs share.
    pub setting: Config,
    /// The best first, then those that took longer, then those that did not get there.
    pub schemes: Vec<SchemeRuns>,
    /// What α and β were measured with.
    pub pilots: Vec<RunView>,
}

impl Group {
    /// Of the header that all its runs share.
    pub fn task(&self) -> &str {
        self.runs().next().map_or("", |run| &run.header.task)
    }

    /// Where runs were to go.
    pub fn target_accuracy(&self) -> Option<f64> {
        self.runs().find_map(|run| run.header.target_accuracy)
    }

    /// Where runs were to go, in words.
    pub fn target(&self) -> String {
        let loss = self.runs().find_map(|run| run.header.target_loss);
        match (self.target_accuracy(), loss) {
            (Some(accuracy), _) => percent(accuracy),
            (None, Some(loss)) => format!("a loss of {}", significant(loss, 3)),
            (None, None) => "the target".to_owned(),
        }
    }

    /// What its runs are timed by, for people.
    pub fn time(&self) -> &'static str {
        if self.setting.on_devices() { "real time" } else { "virtual time" }
    }

    /// All runs but pilots.
    pub fn runs(&self) -> impl Iterator<Item = &RunView> {
        self.schemes.iter().flat_map(|scheme| &scheme.runs)
    }

    /// The runs of a scheme.
    pub fn scheme(&self, name: &str) -> Option<&SchemeRuns> {
        self.schemes.iter().find(|scheme| scheme.scheme == name)
    }

    /// Such as `fleet.bandwidth_mbps = 200`; empty if there is only one group.
    pub fn title(&self) -> String {
        const SHOWN: usize = 3;
        let mut parts: Vec<String> =
            self.label.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        // The task says most.
        parts.sort_by_key(|part| !part.starts_with("task"));
        if parts.len() > SHOWN {
            parts.truncate(SHOWN);
            parts.push("…".to_owned());
        }
        parts.join(", ")
    }
}

/// What a report shows.
#[derive(Debug)]
pub struct Collection {
    /// In the order of what sets them apart.
    pub groups: Vec<Group>,
    /// What is missing, and why.
    pub problems: Vec<Problem>,
}

impl Collection {
    /// Reads all runs in and below folders; `chosen` is a round that somebody wants to see.
    pub fn read(folders: &[PathBuf], chosen: Option<u64>) -> Result<Self, ReportError> {
        let mut problems = Vec::new();
        let found = run_folders(folders, &mut problems);
        let mut runs = Vec::new();
        for (run, of_run) in read_all(&found, chosen) {
            problems.extend(of_run);
            runs.extend(run);
        }
        let (pilots, runs): (Vec<RunView>, Vec<RunView>) = runs.into_iter().partition(RunView::is_pilot);
        if runs.is_empty() && pilots.is_empty() {
            let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let problems = problems.iter().map(ToString::to_string).collect();
            return Err(ReportError::NoRuns { folders: named.join(", "), problems });
        }
        let groups = group(runs, pilots, &mut problems);
        let shown = |group: &Group| group.runs().any(|run| run.kept.has_chosen());
        if let Some(chosen) = chosen
            && !groups.iter().any(shown)
        {
            problems.push(Problem::of(&format!("round {chosen}: no run here has it")));
        }
        Ok(Self { groups, problems })
    }

    /// The versions of fedflip that wrote the runs, each once.
    pub fn versions(&self) -> Vec<&str> {
        let runs = self.groups.iter().flat_map(|group| group.runs().chain(&group.pilots));
        let mut versions: Vec<&str> = runs.map(|run| run.header.fedflip.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }
}

/// Reads runs on all processors; in the order of the folders.
fn read_all(folders: &[PathBuf], chosen: Option<u64>) -> Vec<(Option<RunView>, Vec<Problem>)> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(folders.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((place, folder)) = take(&next, folders) {
            let mut problems = Vec::new();
            let run = RunView::read(folder, chosen, &mut problems);
            done.push((place, (run, problems)));
        }
        done
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        done.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        done
    });
    all.sort_unstable_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, read)| read).collect()
}

fn take<'a>(next: &AtomicUsize, folders: &'a [PathBuf]) -> Option<(usize, &'a Path)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    folders.get(place).map(|folder| (place, folder.as_path()))
}

/// A group as it grows: its task, what its runs share, and the runs.
type Growing = (String, Config, Vec<RunView>);

fn group(runs: Vec<RunView>, pilots: Vec<RunView>, problems: &mut Vec<Problem>) -> Vec<Group> {
    let mut growing: Vec<Growing> = Vec::new();
    // A scheme that brings more than its q is put beside others, so they come first.
    let (bringing, others): (Vec<RunView>, Vec<RunView>) =
        runs.into_iter().partition(|run| run.config.brings_its_own());
    for run in others.into_iter().chain(bringing) {
        // A run without its scenario still has a task.
        let key = (run.header.task.clone(), run.config.setting());
        match home(&mut growing, &key, run.config.brings_its_own()) {
            Some((_, _, runs)) => runs.push(run),
            None => growing.push((key.0, key.1, vec![run])),
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
                let of_run = runs.first().and_then(|run| run.config.get(key));
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

/// The group of a run: that of its setting; and where its scheme brings more than its q, else the one from which it
/// differs in that alone, if there is only one and it has no runs of that scheme with something else.
fn home<'a>(
    growing: &'a mut [Growing],
    (task, setting): &(String, Config),
    brings_its_own: bool,
) -> Option<&'a mut Growing> {
    if let Some(place) = growing.iter().position(|(t, s, _)| (t, s) == (task, setting)) {
        return growing.get_mut(place);
    }
    let bare = brings_its_own.then(|| setting.without_brought())?;
    let alike = |runs: &[RunView]| {
        let mut bringing = runs.iter().filter(|run| run.config.brings_its_own());
        bringing.all(|run| run.config.setting() == *setting)
    };
    let mut near =
        growing.iter_mut().filter(|(t, s, runs)| t == task && s.without_brought() == bare && alike(runs));
    near.next().filter(|_| near.next().is_none())
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
        parts.entry(run.config.setting_with_constants(run.used_constants())).or_default().push(run);
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
