//! All runs of a report: those that can be compared in one group, each scheme with its seeds.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use fedflip_fleet::{Display, MetricInfo};
use fedflip_plan::Scheme;
use fedflip_record::Target;

use crate::config::Config;
use crate::devices::Devices;
use crate::error::ReportError;
use crate::find_runs::run_folders;
use crate::given_target::GivenTarget;
use crate::grouping::group;
use crate::numbers::metric_value;
use crate::problem;
use crate::run_view::{Chosen, RunView};
use crate::standing::Standing;

/// A scheme's runs, a seed each.
#[derive(Debug)]
pub struct SchemeRuns {
    /// The name of the scheme, such as `exact`.
    pub scheme: String,
    /// The runs of the scheme, ordered by seed.
    pub runs: Vec<RunView>,
    /// The time to the target over all seeds.
    pub standing: Standing,
    /// Of the first run; none if they cannot be read, or if their plan is of after a target that was given.
    pub devices: Option<Devices>,
}

impl SchemeRuns {
    /// A number over all seeds.
    fn sum(&self, of: impl Fn(&RunView) -> u64) -> u64 {
        self.runs.iter().map(of).sum()
    }

    /// Whether there are rounds; under a scheme without them, a record is a step of the server.
    pub fn has_rounds(&self) -> bool {
        self.scheme.parse::<Scheme>().map_or(true, |scheme| scheme.method().buffer().is_none())
    }

    /// Whether devices flip independent coins, which the round model, its bounds and C(q) are about.
    pub fn flips_coins(&self) -> bool {
        self.scheme.parse::<Scheme>().map_or(true, |scheme| scheme.method().flips_coins())
    }

    /// Whether q is known before a run: not where there are no rounds, and not where reports of devices decide.
    pub fn has_q(&self) -> bool {
        let depends = |scheme: Scheme| scheme.method().depends_on_reports();
        self.has_rounds() && !self.scheme.parse::<Scheme>().is_ok_and(depends)
    }

    /// The number of rounds of all seeds together.
    pub fn rounds(&self) -> u64 {
        self.sum(|run| run.summary().rounds)
    }

    /// How often a device took part, over all seeds.
    pub fn participations(&self, device: usize) -> u64 {
        self.sum(|run| run.participations(device))
    }

    /// Of all seeds, under the plans that are in their folders.
    pub fn rounds_of_plan(&self) -> u64 {
        self.sum(|run| run.plans.last().map_or(0, |plan| plan.rounds))
    }

    /// How often a device took part in these.
    pub fn participations_of_plan(&self, device: usize) -> u64 {
        self.sum(|run| run.participations_of_plan(device))
    }

    /// How often a device took part and did not report, over all seeds.
    pub fn lost(&self, device: usize) -> u64 {
        self.sum(|run| run.lost.get(device).copied().unwrap_or(0))
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

    /// The metrics that its runs declare; the first one is the headline.
    pub fn metrics(&self) -> &[MetricInfo] {
        self.all_runs().next().map_or(&[], |run| &run.header.metrics)
    }

    /// Where runs were to go.
    pub fn target(&self) -> Option<&Target> {
        self.runs().find_map(|run| run.header.stop.as_ref())
    }

    /// How the values of a metric are shown.
    pub fn display_of(&self, metric: &str) -> Display {
        let declared = self.metrics().iter().find(|info| info.name == metric);
        declared.map_or(Display::Number, |info| info.display)
    }

    /// Where runs were to go, in words. A share alone says enough, as long as it is one of the headline.
    pub fn target_words(&self) -> String {
        let Some(Target { metric, at, .. }) = self.target() else { return "the target".to_owned() };
        let value = metric_value(self.display_of(metric), *at);
        let headline = self.metrics().first().filter(|info| info.display == Display::Share);
        match headline.is_some_and(|info| info.name == *metric) {
            true => value,
            false => format!("{metric} {value}"),
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

    /// All runs, and then the pilots.
    pub fn all_runs(&self) -> impl Iterator<Item = &RunView> {
        self.runs().chain(&self.pilots)
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
    pub problems: Vec<String>,
}

impl Collection {
    /// Reads all runs in and below folders; `chosen` is a round to show. A target takes the place of those of the runs.
    pub fn read(
        folders: &[PathBuf],
        chosen: Option<u64>,
        target: Option<&GivenTarget>,
    ) -> Result<Self, ReportError> {
        let mut problems = Vec::new();
        let found = run_folders(folders, &mut problems);
        let mut runs = Vec::new();
        for (run, of_run) in read_all(&found, (chosen, target)) {
            problems.extend(of_run);
            runs.extend(run);
        }
        let (pilots, runs): (Vec<RunView>, Vec<RunView>) = runs.into_iter().partition(|run| run.header.pilot);
        if runs.is_empty() && pilots.is_empty() {
            let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            return Err(ReportError::NoRuns { folders: named.join(", "), problems });
        }
        let runs = match target {
            Some(target) => target.only(runs, &mut problems)?,
            None => runs,
        };
        let groups = group(runs, pilots, &mut problems);
        let shown = |group: &Group| group.runs().any(|run| run.kept.has_chosen());
        if let Some(chosen) = chosen
            && !groups.iter().any(shown)
        {
            let before = if target.is_some() { " before the target" } else { "" };
            problems.push(problem::of(&format!("round {chosen}: no run here has it{before}")));
        }
        Ok(Self { groups, problems })
    }

    /// All runs and pilots of all groups.
    pub fn all_runs(&self) -> impl Iterator<Item = &RunView> {
        self.groups.iter().flat_map(Group::all_runs)
    }
}

/// Reads runs on all processors; in the order of the folders.
fn read_all(folders: &[PathBuf], chosen: Chosen<'_>) -> Vec<(Option<RunView>, Vec<String>)> {
    let read = |folder: &PathBuf| {
        let mut problems = Vec::new();
        let run = RunView::read(folder, chosen, &mut problems);
        (run, problems)
    };
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(folders.len());
    // Runs differ in length, so every worker takes the next folder when it is done with one.
    let next = AtomicUsize::new(0);
    let work = || {
        let places = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let places = places.take_while(|place| *place < folders.len());
        places.map(|place| (place, read(&folders[place]))).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, run)| run).collect()
}
