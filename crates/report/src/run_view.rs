//! One run, folded into what a report shows of it: of a round only its length stays, and its evaluation.

use std::path::{Path, PathBuf};

use fedflip_fleet::DEVICES_MAX;
use fedflip_fleet::Metrics;
use fedflip_plan::Constants;
use fedflip_record::folder::{RECORDS, RUN};
use fedflip_record::{End, Header, Line, Replan, Round, Summary, UsedConstants, reader};

use crate::config::Config;
use crate::deployed::HeldPlan;
use crate::problem::Problem;
use crate::rounds::{KeptRounds, RoundTimes};

/// The model after a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluated {
    /// Since the run began.
    pub secs: f64,
    /// On the test samples.
    pub loss: f64,
    /// See `loss`.
    pub accuracy: f64,
}

/// What had happened when the last plan was made.
#[derive(Clone, Debug, Default)]
struct Before {
    rounds: u64,
    participations: Vec<u64>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Where it is.
    pub folder: PathBuf,
    /// Its first record.
    pub header: Header,
    /// In a few numbers.
    pub summary: Summary,
    /// More about its end, where there is more to say.
    pub detail: Option<String>,
    /// The evaluation of the first model.
    pub initial: Option<Evaluated>,
    /// Every evaluation after a round, in order.
    pub evaluated: Vec<Evaluated>,
    /// How long its rounds took.
    pub times: RoundTimes,
    /// Rounds worth looking at.
    pub kept: KeptRounds,
    /// How often each device took part.
    pub participations: Vec<u64>,
    /// How often each device took part and did not report.
    pub lost: Vec<u64>,
    /// Its scenario; empty if that is missing.
    pub config: Config,
    /// The first one, and those that took its place; the last one is in the folder.
    pub plans: Vec<HeldPlan>,
    /// Before the last plan.
    before_plan: Before,
    /// Whether rounds name devices that the header does not have.
    strangers: bool,
}

impl RunView {
    /// Reads a run's folder; `chosen` is a round that somebody wants to see. What is wrong is added to
    /// `problems`; none if not even the header can be read.
    pub(crate) fn read(folder: &Path, chosen: Option<u64>, problems: &mut Vec<Problem>) -> Option<Self> {
        let records = folder.join(RECORDS);
        let mut view: Option<Self> = None;
        let read = reader::each(&records, |line| match (line, &mut view) {
            (Line::Header(header), _) => view = Some(Self::new(folder, header, chosen)),
            (Line::Initial(initial), Some(view)) => {
                view.summary.initial(&initial);
                view.initial = evaluated(initial.secs, &initial.metrics);
            }
            (Line::Round(round), Some(view)) => view.add(round),
            // Devices may come while a run goes on.
            (Line::Replan(replan), Some(view)) => {
                view.header.devices = view.header.devices.max(replan.devices);
                view.replan(replan);
            }
            (Line::End(end), Some(view)) => view.end(&end),
            (_, None) => {}
        });
        match (&view, read) {
            (None, Ok(())) => {
                problems.push(Problem::new(&records, "is empty, or holds no whole line yet"));
                return None;
            }
            (None, Err(error)) => problems.push(Problem::of(&error)),
            (Some(view), Err(error)) => {
                let rounds = view.summary.rounds;
                problems
                    .push(Problem::of(&error).and(&format!(" (the {rounds} rounds before it are shown)")));
            }
            (Some(_), Ok(())) => {}
        }
        let mut view = view?;
        if view.strangers {
            problems.push(Problem::new(
                &records,
                "names devices that its header does not have: they are not counted",
            ));
        }
        let config = Config::read(&folder.join(RUN)).unwrap_or_else(|problem| {
            problems.push(problem);
            Config::default()
        });
        view.config = config.run_on(view.is_deployed());
        Some(view)
    }

    fn new(folder: &Path, header: Header, chosen: Option<u64>) -> Self {
        Self {
            folder: folder.to_owned(),
            summary: Summary::new(&header),
            plans: vec![HeldPlan::first(&header)],
            before_plan: Before::default(),
            header,
            detail: None,
            initial: None,
            evaluated: Vec::new(),
            times: RoundTimes::default(),
            kept: KeptRounds::new(chosen),
            participations: Vec::new(),
            lost: Vec::new(),
            config: Config::default(),
            strangers: false,
        }
    }

    fn add(&mut self, round: Round) {
        self.summary.add(&round);
        self.times.add(&round);
        self.plans.last_mut().into_iter().for_each(|plan| plan.add(&round));
        for &device in &round.cohort {
            self.strangers |= !count(&mut self.participations, device, self.header.devices);
        }
        for lost in &round.lost {
            self.strangers |= !count(&mut self.lost, lost.device, self.header.devices);
        }
        self.evaluated.extend(evaluated(round.end_secs(), &round.metrics));
        self.kept.offer(round);
    }

    fn replan(&mut self, replan: Replan) {
        self.plans.push(HeldPlan::of(replan));
        self.before_plan.rounds = self.summary.rounds;
        self.before_plan.participations.clone_from(&self.participations);
    }

    /// Rounds under the last plan.
    pub fn rounds_of_plan(&self) -> u64 {
        self.summary.rounds - self.before_plan.rounds
    }

    /// How often a device took part under the last plan.
    pub fn participations_of_plan(&self, device: usize) -> u64 {
        let of = |counts: &[u64]| counts.get(device).copied().unwrap_or(0);
        of(&self.participations) - of(&self.before_plan.participations)
    }

    fn end(&mut self, end: &End) {
        self.summary.end(end);
        self.evaluated.extend(evaluated(end.secs, &end.metrics));
        self.detail.clone_from(&end.detail);
    }

    /// Whether it ran on real devices, so that its time is real time.
    pub fn is_deployed(&self) -> bool {
        // Only real devices have a plan replaced: that told before headers did.
        self.header.deployed.is_some() || self.plans.len() > 1
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

    /// Whether the run is a pilot, which measures α and β.
    pub fn is_pilot(&self) -> bool {
        self.header.pilot
    }
}

fn evaluated(secs: f64, metrics: &Metrics) -> Option<Evaluated> {
    Some(Evaluated { secs, loss: metrics.get("loss")?, accuracy: metrics.get("accuracy")? })
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
