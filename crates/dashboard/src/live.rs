//! What runs, as it stands now: bounded in memory, whatever the length of the run.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::units::plain;
use fedflip_fleet::{Direction, Display, Fleet, MetricInfo, Metrics};
use fedflip_record::{End, Header, Initial, Round, Summary};
use serde::Serialize;

use crate::log::Log;
use crate::series::{Points, Series};
use crate::standings::Standings;
use crate::tally::{self, Tally, Timeline};

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
#[derive(Debug, Serialize)]
pub struct Earlier {
    /// Such as `3/24 exact-seed1`.
    pub title: String,
    pub label: String,
    /// By metric.
    pub curves: BTreeMap<String, Points>,
}

/// The run that goes on, or the last one, in words and numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunStatus {
    pub(crate) title: String,
    pub(crate) label: String,
    pub(crate) folder: Option<String>,
    pub(crate) header: Header,
    /// The header's, as text: a browser's numbers have 53 bits.
    seed: String,
    pub(crate) summary: Summary,
    /// Devices that took part and did not report.
    lost: u64,
    real_secs: f64,
    #[serde(skip)]
    is_stopped: bool,
    #[serde(skip)]
    detail: Option<String>,
}

/// The run that goes on, or the last one.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) roster: Arc<Roster>,
    pub(crate) status: RunStatus,
    /// By metric, in the header's order.
    pub(crate) metrics: Vec<(MetricInfo, Series)>,
    pub(crate) round_secs: Series,
    pub(crate) participants: Series,
    tallies: Vec<Tally>,
    pub(crate) timeline: Timeline,
    /// The value of the headline that the log had last.
    logged: Option<f64>,
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
            let curves = current
                .metrics
                .iter()
                .map(|(info, curve)| (info.name.to_string(), curve.shrunk(EARLIER_POINTS)));
            self.earlier.push_back(Arc::new(Earlier {
                curves: curves.collect(),
                title: current.status.title,
                label: current.status.label,
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
        current.status.header = run.header.clone();
        // Devices may come, and none go.
        current.tallies.resize(run.fleet.len().max(current.tallies.len()), Tally::default());
        let round = current.status.summary.rounds;
        self.log.write(current.status.secs(), format!("a new plan after round {round}: {reason}"));
    }

    pub fn initial(&mut self, initial: &Initial) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.status.summary.initial(initial);
        current.evaluated(&initial.metrics);
        current.logged = current.headline(&initial.metrics).map(|(_, value)| value);
    }

    /// One more round, so long after the run began by the clock on the wall.
    pub fn round(&mut self, round: &Round, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.status.real_secs = real_secs;
        current.add(round);
        let secs = current.status.secs();
        let lines = [current.progress(round), current.losses(round)];
        lines
            .into_iter()
            .flatten()
            .for_each(|line| self.log.write(secs, format!("round {}: {line}", round.round)));
    }

    /// The run is over; none if it was interrupted.
    pub fn end(&mut self, end: Option<&End>, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.status.real_secs = real_secs;
        current.status.is_stopped = end.is_none();
        if let Some(end) = end {
            current.status.summary.end(end);
            current.status.detail.clone_from(&end.detail);
            current.evaluated(&end.metrics);
            self.standings.note(&current.status.label, end);
        }
        let status = &current.status;
        let how = status.ended().unwrap_or_default();
        let text = format!("after round {}, {} {how}", status.summary.rounds, status.title);
        self.log.write(status.secs(), text);
    }

    /// All runs are over: nothing more will come.
    pub fn finish(&mut self) {
        self.version += 1;
        self.is_done = true;
        let (_, secs) = self.elapsed();
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
        self.current
            .as_ref()
            .map_or((0, 0.0), |current| (current.status.summary.rounds, current.status.secs()))
    }

    /// What some devices of a run did so far; none if another run has begun since.
    pub fn tallies(&self, run: u64, devices: Range<usize>) -> Option<&[Tally]> {
        self.current.as_ref().filter(|current| current.roster.run == run)?.tallies.get(devices)
    }
}

impl RunStatus {
    pub(crate) fn secs(&self) -> f64 {
        3600.0 * self.summary.hours
    }

    pub(crate) fn state(&self) -> &'static str {
        match self.summary.end {
            Some(_) => "ended",
            None if self.is_stopped => "stopped",
            None => "running",
        }
    }

    /// How the run ended, for people; none while it goes on.
    pub(crate) fn ended(&self) -> Option<String> {
        let how = match self.summary.end {
            Some(reason) => reason.in_words(self.header.deployed.is_some()),
            None if self.is_stopped => "stopped before its end",
            None => return None,
        };
        Some(self.detail.as_ref().map_or_else(|| how.to_owned(), |detail| format!("{how}: {detail}")))
    }
}

impl Current {
    fn new(number: u64, run: &Run<'_>) -> Self {
        let header = run.header.clone();
        Self {
            tallies: vec![Tally::default(); run.fleet.len()],
            roster: Arc::new(Roster::of(number, run)),
            metrics: header.metrics.iter().map(|info| (info.clone(), Series::default())).collect(),
            round_secs: Series::default(),
            participants: Series::default(),
            timeline: Timeline::default(),
            logged: None,
            lost_lines: 0,
            status: RunStatus {
                title: run.title.to_owned(),
                label: run.label.to_owned(),
                folder: run.folder.map(|folder| folder.display().to_string()),
                seed: header.seed.to_string(),
                summary: Summary::new(&header),
                header,
                lost: 0,
                real_secs: 0.0,
                is_stopped: false,
                detail: None,
            },
        }
    }

    fn add(&mut self, round: &Round) {
        self.status.summary.add(round);
        self.status.lost += round.lost.len() as u64;
        let secs = self.status.secs();
        self.round_secs.push(secs, round.round_secs);
        self.participants.push(secs, round.cohort.len() as f64);
        tally::add(&mut self.tallies, &self.roster.fleet, round);
        self.timeline.note(&self.roster.fleet, round);
        self.evaluated(&round.metrics);
    }

    fn evaluated(&mut self, metrics: &Metrics) {
        let secs = self.status.secs();
        for (info, curve) in &mut self.metrics {
            metrics.get(&info.name).into_iter().for_each(|value| curve.push(secs, value));
        }
    }

    fn headline(&self, metrics: &Metrics) -> Option<(&MetricInfo, f64)> {
        let (info, _) = self.metrics.first()?;
        metrics.get(&info.name).map(|value| (info, value))
    }

    /// A line where the headline is a tenth better than in the line before.
    fn progress(&mut self, round: &Round) -> Option<String> {
        let (info, value) = self.headline(&round.metrics)?;
        let before = self.logged.unwrap_or(value);
        let gain = match info.better {
            Direction::Larger => value - before,
            Direction::Smaller => before - value,
        };
        let (step, shown) = match info.display {
            Display::Share => (0.1, format!("{:.1} %", 100.0 * value)),
            Display::Number => (0.1 * before.abs(), plain(format!("{value:.3e}").parse().unwrap_or(value))),
        };
        let line = (gain >= step && gain > 0.0).then(|| format!("{} {shown}", info.name));
        if line.is_some() || self.logged.is_none() {
            self.logged = Some(value);
        }
        line
    }

    /// A line for the devices that did not report. After some of them, every doubling of their number is worth one.
    fn losses(&mut self, round: &Round) -> Option<String> {
        let RunStatus { lost, .. } = self.status;
        let before = lost - round.lost.len() as u64;
        if round.lost.is_empty() {
            return None;
        }
        if self.lost_lines < LOST_LINES_MAX {
            self.lost_lines += 1;
            return Some(self.lost_words(round));
        }
        (lost.ilog2() > before.max(1).ilog2()).then(|| format!("{lost} devices lost so far"))
    }

    fn lost_words(&self, round: &Round) -> String {
        let fleet = &self.roster.fleet;
        let known = round.lost.iter().filter(|lost| lost.device < fleet.len());
        let named: Vec<String> =
            known.take(3).map(|lost| format!("{} ({})", fleet.name(lost.device), lost.reason)).collect();
        let more = round.lost.len().saturating_sub(named.len());
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("lost {}{others}", named.join(", "))
    }
}
