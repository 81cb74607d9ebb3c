//! What runs, as it stands now: bounded in memory, whatever the length of the run.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::{Fleet, Metrics};
use fedflip_record::{End, EndReason, Header, Initial, Round};

use crate::log::Log;
use crate::series::{Point, Series};
use crate::standings::Standings;
use crate::tally::{self, Latest, Tally};

/// The most runs of a comparison whose curves are kept; the oldest make room.
pub const EARLIER_MAX: usize = 64;

/// Points of a curve of a run that is over.
pub const EARLIER_POINTS: usize = 200;

/// After so many lines about lost devices, only every doubling of their number is worth one.
const LOST_LINES_MAX: u64 = 20;

#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Such as `3/24 exact-seed1`.
    pub title: &'a str,
    /// What it is compared by, such as `exact`: runs of one label have one colour.
    pub label: &'a str,
    pub header: &'a Header,
    pub fleet: &'a Fleet,
    pub q: &'a [f64],
    /// Where it is kept, if it is.
    pub folder: Option<&'a Path>,
}

/// Who may take part: what does not change while a plan holds.
#[derive(Debug)]
pub struct Roster {
    /// Which run it is, counted from 1.
    pub run: u64,
    pub fleet: Fleet,
    pub q: Vec<f64>,
}

impl Roster {
    fn of(number: u64, run: &Run<'_>) -> Self {
        Self { run: number, fleet: run.fleet.clone(), q: run.q.to_vec() }
    }
}

/// The curves of a run that is over.
#[derive(Debug)]
pub struct Earlier {
    /// Such as `3/24 exact-seed1`.
    pub title: String,
    pub label: String,
    pub accuracy: Vec<Point>,
    pub loss: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Running,
    Ended(EndReason),
    Stopped,
}

/// The run that goes on, or the last one.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) roster: Arc<Roster>,
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) header: Header,
    pub(crate) folder: Option<String>,
    pub(crate) phase: Phase,
    pub(crate) detail: Option<String>,
    /// Accuracy, loss, seconds a round, participants.
    pub(crate) curves: [Series; 4],
    pub(crate) tallies: Vec<Tally>,
    pub(crate) latest: Latest,
    pub(crate) round: u64,
    pub(crate) secs: f64,
    pub(crate) accuracy: Option<f64>,
    pub(crate) loss: Option<f64>,
    pub(crate) taken: u64,
    pub(crate) lost: u64,
    pub(crate) empty_rounds: u64,
    pub(crate) biased_rounds: u64,
    pub(crate) real_secs: f64,
    /// Tenths of accuracy that were passed.
    tenths: u32,
    lost_lines: u64,
}

/// What runs now and what ran before.
#[derive(Debug, Default)]
pub struct Live {
    pub(crate) current: Option<Current>,
    pub(crate) earlier: VecDeque<Arc<Earlier>>,
    pub(crate) log: Log,
    pub(crate) runs: u64,
    pub(crate) standings: Standings,
    pub(crate) is_done: bool,
    /// Grows with every change.
    pub(crate) version: u64,
}

impl Live {
    /// A run begins; the one before it is over.
    pub fn begin(&mut self, run: &Run<'_>) {
        if let Some(current) = self.current.take() {
            if self.earlier.len() == EARLIER_MAX {
                self.earlier.pop_front();
            }
            let [accuracy, loss, ..] = &current.curves;
            self.earlier.push_back(Arc::new(Earlier {
                accuracy: accuracy.shrunk(EARLIER_POINTS),
                loss: loss.shrunk(EARLIER_POINTS),
                title: current.title,
                label: current.label,
            }));
        }
        self.version += 1;
        self.runs += 1;
        self.log.write(0.0, format!("{}: began", run.title));
        self.current = Some(Current::new(self.runs, run));
    }

    /// Another plan takes the place of the one that held: `run` as it is from now on.
    pub fn replan(&mut self, run: &Run<'_>, reason: &str) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.roster = Arc::new(Roster::of(current.roster.run, run));
        current.header = run.header.clone();
        // Devices may come, and none go.
        current.tallies.resize(run.fleet.len().max(current.tallies.len()), Tally::default());
        self.log.write(current.secs, format!("a new plan after round {}: {reason}", current.round));
    }

    pub fn initial(&mut self, initial: &Initial) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.secs = initial.secs;
        current.evaluated(&initial.metrics);
    }

    /// One more round, so long after the run began by the clock on the wall.
    pub fn round(&mut self, round: &Round, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.real_secs = real_secs;
        current.add(round);
        current.report(round, &mut self.log);
    }

    /// The run is over; none if it was interrupted.
    pub fn end(&mut self, end: Option<&End>, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.real_secs = real_secs;
        current.phase = end.map_or(Phase::Stopped, |end| Phase::Ended(end.reason));
        current.detail = end.and_then(|end| end.detail.clone());
        if let Some(end) = end {
            current.evaluated(&end.metrics);
            self.standings.note(&current.label, end.reason, end.secs, end.rounds);
        }
        let how = current.words();
        let detail = current.detail.as_ref().map_or(String::new(), |detail| format!(": {detail}"));
        let text = format!("{}: {how} after round {}{detail}", current.title, current.round);
        self.log.write(current.secs, text);
    }

    /// All runs are over: nothing more will come.
    pub fn finish(&mut self) {
        self.version += 1;
        self.is_done = true;
        let secs = self.current.as_ref().map_or(0.0, |current| current.secs);
        self.log.write(secs, "all work is done".to_owned());
    }

    /// Grows with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Who may take part in the current run.
    pub fn roster(&self) -> Option<Arc<Roster>> {
        self.current.as_ref().map(|current| Arc::clone(&current.roster))
    }

    /// Rounds and seconds of the current run.
    pub fn elapsed(&self) -> (u64, f64) {
        self.current.as_ref().map_or((0, 0.0), |current| (current.round, current.secs))
    }

    /// What some devices of a run did so far; none if another run has begun since.
    pub fn tallies(&self, run: u64, devices: Range<usize>) -> Option<&[Tally]> {
        self.current.as_ref().filter(|current| current.roster.run == run)?.tallies.get(devices)
    }
}

impl Current {
    fn new(number: u64, run: &Run<'_>) -> Self {
        Self {
            tallies: vec![Tally::default(); run.fleet.len()],
            roster: Arc::new(Roster::of(number, run)),
            title: run.title.to_owned(),
            label: run.label.to_owned(),
            header: run.header.clone(),
            folder: run.folder.map(|folder| folder.display().to_string()),
            phase: Phase::Running,
            detail: None,
            curves: Default::default(),
            latest: Latest::default(),
            round: 0,
            secs: 0.0,
            accuracy: None,
            loss: None,
            taken: 0,
            lost: 0,
            empty_rounds: 0,
            biased_rounds: 0,
            real_secs: 0.0,
            tenths: 0,
            lost_lines: 0,
        }
    }

    fn add(&mut self, round: &Round) {
        self.round = round.round;
        self.secs = round.start_secs + round.round_secs;
        let participants = round.cohort.len();
        self.taken += participants as u64;
        self.lost += round.lost.len() as u64;
        self.empty_rounds += u64::from(participants == 0);
        self.biased_rounds += u64::from(!round.lost.is_empty());
        let [_, _, round_secs, cohort] = &mut self.curves;
        round_secs.push(self.secs, round.round_secs);
        cohort.push(self.secs, participants as f64);
        tally::add(&mut self.tallies, &self.roster.fleet, round);
        self.latest.note(&self.roster.fleet, round);
        self.evaluated(&round.metrics);
    }

    fn evaluated(&mut self, metrics: &Metrics) {
        let (Some(accuracy), Some(loss)) = (metrics.get("accuracy"), metrics.get("loss")) else { return };
        (self.accuracy, self.loss) = (Some(accuracy), Some(loss));
        let [accuracies, losses, ..] = &mut self.curves;
        accuracies.push(self.secs, accuracy);
        losses.push(self.secs, loss);
    }

    /// How far it is, for people.
    pub(crate) fn words(&self) -> String {
        match self.phase {
            Phase::Running => "running",
            Phase::Stopped => "stopped before its end",
            Phase::Ended(reason) => reason.in_words(self.header.deployed.is_some()),
        }
        .to_owned()
    }

    /// What of a round is worth a line.
    fn report(&mut self, round: &Round, log: &mut Log) {
        if let Some(accuracy) = round.metrics.get("accuracy") {
            let tenths = (10.0 * accuracy).floor().clamp(0.0, 10.0) as u32;
            if tenths > self.tenths {
                self.tenths = tenths;
                log.write(self.secs, format!("round {}: accuracy {:.1} %", self.round, 100.0 * accuracy));
            }
        }
        let before = self.lost - round.lost.len() as u64;
        if round.lost.is_empty() {
        } else if self.lost_lines < LOST_LINES_MAX {
            self.lost_lines += 1;
            log.write(self.secs, self.lost_words(round));
        } else if self.lost.ilog2() > before.max(1).ilog2() {
            log.write(self.secs, format!("round {}: {} devices lost so far", self.round, self.lost));
        }
    }

    fn lost_words(&self, round: &Round) -> String {
        let fleet = &self.roster.fleet;
        let known = round.lost.iter().filter(|lost| lost.device < fleet.len());
        let named: Vec<String> =
            known.take(3).map(|lost| format!("{} ({})", fleet.name(lost.device), lost.reason)).collect();
        let more = round.lost.len().saturating_sub(named.len());
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("round {}: lost {}{others}", self.round, named.join(", "))
    }
}
