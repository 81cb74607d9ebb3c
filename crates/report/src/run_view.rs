//! One run, folded into what a report shows of it: of a round only its length stays, and its evaluation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fedflip_fleet::DEVICES_MAX;
use fedflip_plan::Constants;
use fedflip_record::folder::{RECORDS, RUN};
use fedflip_record::{
    End, EndReason, Estimated, Fold, Header, Initial, Line, Replan, Round, Summary, UsedConstants, reader,
};

use crate::config::Config;
use crate::given_target::GivenTarget;
use crate::mixed_workers;
use crate::problem;
use crate::rounds::KeptRounds;

/// A plan, and what became of it while it held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldPlan {
    /// Why it was made, and what it expects.
    pub made: Replan,
    /// The number of rounds under this plan.
    pub rounds: u64,
    /// Rounds under it in which a device of the cohort did not report.
    pub biased_rounds: u64,
    /// How long its rounds took.
    pub secs: f64,
}

impl HeldPlan {
    fn new(made: Replan) -> Self {
        Self { made, ..Self::default() }
    }

    /// The plan that a run began with.
    fn first(header: &Header) -> Self {
        Self::new(Replan {
            reason: "the first plan".to_owned(),
            devices: header.devices,
            expected_participants: header.expected_participants,
            expected_rounds: header.expected_rounds,
            expected_round_secs: header.expected_round_secs,
            costs: header.costs,
            ..Replan::default()
        })
    }
}

/// What somebody wants to see of runs: a round, and the way to a target.
pub(crate) type Chosen<'a> = (Option<u64>, Option<&'a GivenTarget>);

/// A run as its folder shows it.
#[derive(Clone, Debug)]
pub struct RunView {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The first line of its records.
    pub header: Header,
    /// Its numbers, and every evaluation.
    pub fold: Fold,
    /// More about its end, where there is more to say.
    pub detail: Option<String>,
    /// How long the rounds took in which somebody took part.
    pub round_secs: Vec<f32>,
    /// Rounds worth looking at.
    pub kept: KeptRounds,
    /// How often each device took part.
    participations: Vec<u64>,
    /// The same under the last plan, of those who did: records may have any number of devices and of plans.
    participations_of_plan: BTreeMap<usize, u64>,
    /// How often each device took part and did not report.
    pub lost: Vec<u64>,
    /// Its scenario; empty if that is missing.
    pub config: Config,
    /// The first one, and those that took its place; the last one is in the folder.
    pub plans: Vec<HeldPlan>,
    /// Whether the target was given for the report: the run is then shown until it reaches that target.
    pub has_given_target: bool,
    /// Whether the plan was replaced after the target that was given: the plan in the folder is then not one of those here.
    pub replanned_later: bool,
    /// Whether rounds name devices that the header does not have.
    strangers: bool,
}

impl RunView {
    /// Reads a run's folder; none if not even the header can be read. What is wrong is added to `problems`.
    pub(crate) fn read(folder: &Path, chosen: Chosen<'_>, problems: &mut Vec<String>) -> Option<Self> {
        let records = folder.join(RECORDS);
        let mut view: Option<Self> = None;
        let read = reader::each(&records, |line| match (line, &mut view) {
            (Line::Header(header), _) => view = Some(Self::new(folder, header, chosen)),
            (line, Some(view)) => view.add(line),
            (_, None) => {}
        });
        match (&view, read) {
            (None, Ok(())) => problems.push(problem::about(&records, "is empty, or holds no whole line yet")),
            (None, Err(error)) => problems.push(problem::of(&error)),
            (Some(view), Err(error)) => {
                let rounds = view.summary().rounds;
                problems
                    .push(problem::of(&format_args!("{error} (the {rounds} rounds before it are shown)")));
            }
            (Some(_), Ok(())) => {}
        }
        let mut view = view?;
        if view.strangers {
            problems.push(problem::about(
                &records,
                "names devices that its header does not have: they are not counted",
            ));
        }
        problems.extend(mixed_workers::remark(folder));
        let config = Config::read(&folder.join(RUN)).unwrap_or_else(|problem| {
            problems.push(problem);
            Config::default()
        });
        view.config = config.run_on(view.is_deployed());
        Some(view)
    }

    fn new(folder: &Path, mut header: Header, (chosen, target): Chosen<'_>) -> Self {
        // Pilots measure α and β at a loss of their own.
        let given = target.filter(|_| !header.pilot).and_then(|target| target.of(&header));
        let has_given_target = given.is_some();
        header.stop = given.or(header.stop);
        Self {
            folder: folder.to_owned(),
            fold: Fold::with_every_evaluation(&header),
            plans: vec![HeldPlan::first(&header)],
            header,
            detail: None,
            round_secs: Vec::new(),
            kept: KeptRounds::new(chosen),
            participations: Vec::new(),
            participations_of_plan: BTreeMap::new(),
            lost: Vec::new(),
            config: Config::default(),
            has_given_target,
            replanned_later: false,
            strangers: false,
        }
    }

    fn add(&mut self, line: Line) {
        // What comes after a target that was given for the report is not part of the way to it.
        if self.has_given_target && self.summary().reached() {
            self.replanned_later |= matches!(line, Line::Replan(_));
            return;
        }
        self.fold.add(&line);
        if self.has_given_target {
            self.end_at_given_target(&line);
        }
        match line {
            Line::Header(_) | Line::Initial(_) | Line::Recount(_) => {}
            Line::Round(round) => self.round(round),
            Line::Replan(replan) => {
                // Devices may come while a run is in progress.
                self.header.devices = self.header.devices.max(replan.devices);
                self.plans.push(HeldPlan::new(replan));
                self.participations_of_plan.clear();
            }
            Line::Changed(changed) if !self.has_given_target => self.header.take(&changed),
            Line::Changed(_) => {}
            Line::End(_) if self.summary().end.is_none() => {
                self.detail = Some("ended before the report's target".to_owned());
            }
            Line::End(end) => self.detail = end.detail,
        }
    }

    /// Ends the run where it reaches the target. Its own target may have ended it before that.
    fn end_at_given_target(&mut self, line: &Line) {
        let (metrics, estimated) = match line {
            Line::Initial(Initial { metrics, estimated, .. })
            | Line::Round(Round { metrics, estimated, .. })
            | Line::End(End { metrics, estimated, .. }) => (metrics, estimated),
            Line::Header(_) | Line::Replan(_) | Line::Changed(_) | Line::Recount(_) => return,
        };
        let believed = Estimated::believed(metrics, estimated.as_ref());
        if self.header.stop.as_ref().is_some_and(|target| target.is_met(believed)) {
            self.fold.summary.end = Some(EndReason::Target);
        } else if self.summary().reached() {
            self.fold.summary.end = None;
        }
    }

    fn round(&mut self, round: Round) {
        if !round.cohort.is_empty() {
            self.round_secs.push(round.round_secs as f32);
        }
        let devices = self.header.devices;
        if let Some(plan) = self.plans.last_mut() {
            plan.rounds += 1;
            plan.biased_rounds += u64::from(!round.lost.is_empty());
            plan.secs += round.round_secs;
        }
        for &device in &round.cohort {
            self.strangers |= !count(&mut self.participations, device, devices);
            *self.participations_of_plan.entry(device).or_default() += 1;
        }
        for lost in &round.lost {
            self.strangers |= !count(&mut self.lost, lost.device, devices);
        }
        self.kept.offer(round);
    }

    /// The run in a few numbers.
    pub fn summary(&self) -> &Summary {
        &self.fold.summary
    }

    /// Whether the run is in progress. One that ended at a target of its own has no end here, but something to say of it.
    pub fn is_going_on(&self) -> bool {
        self.summary().end.is_none() && self.detail.is_none()
    }

    /// How often a device took part.
    pub fn participations(&self, device: usize) -> u64 {
        self.participations.get(device).copied().unwrap_or(0)
    }

    /// How often a device took part under the last plan.
    pub fn participations_of_plan(&self, device: usize) -> u64 {
        self.participations_of_plan.get(&device).copied().unwrap_or(0)
    }

    /// How long all rounds took.
    pub fn secs_of_rounds(&self) -> f64 {
        self.plans.iter().map(|plan| plan.secs).sum()
    }

    /// Whether it ran on real devices, so that its time is real time.
    pub fn is_deployed(&self) -> bool {
        // Only real devices have a plan replaced: that told before headers did.
        self.header.deployed.is_some() || self.plans.len() > 1 || self.replanned_later
    }

    /// What it was planned with: as its records say, or else as its scenario does.
    pub fn constants(&self) -> Option<Constants> {
        let used = self.used_constants().map(|used| (used.alpha, used.beta));
        let given = || Some((self.config.number("plan.alpha")?, self.config.number("plan.beta")?));
        let (alpha, beta) = used.or_else(given)?;
        Constants::new(alpha, beta).ok()
    }

    /// As its records say; those of simulations, and older ones, do not.
    pub fn used_constants(&self) -> Option<UsedConstants> {
        self.header.deployed?.constants
    }
}

/// Counts a device, unless there can be no such device. Counts grow with what rounds name, and a file may name
/// anything.
fn count(counts: &mut Vec<u64>, device: usize, devices: usize) -> bool {
    if device >= devices.min(DEVICES_MAX) {
        return false;
    }
    if device >= counts.len() {
        counts.resize(device + 1, 0);
    }
    counts[device] += 1;
    true
}
