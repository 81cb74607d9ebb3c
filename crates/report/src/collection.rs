//! All runs of a report: those that can be compared in one group, each scheme with its seeds.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::config::Config;
use crate::devices::Devices;
use crate::error::ReportError;
use crate::find_runs::run_folders;
use crate::grouping::group;
use crate::numbers::{percent, significant};
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

/// Runs that differ in scheme, seed and caps only.
#[derive(Debug)]
pub struct Group {
    /// The keys and values that set it apart from the other groups.
    pub label: Vec<(String, String)>,
    /// What its runs share.
    pub setting: Config,
    /// The best first, then those that took longer, then those that ended before the target.
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
        self.runs().find_map(|run| run.header.target_of("accuracy"))
    }

    /// Where runs were to go, in words.
    pub fn target(&self) -> String {
        let loss = self.runs().find_map(|run| run.header.target_of("loss"));
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
    /// Reads all runs in and below folders; `chosen` is a round to show.
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
