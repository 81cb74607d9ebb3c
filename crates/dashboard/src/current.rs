//! The run in progress, or the last one: its numbers, its curves, and the lines that it writes to the log.

use std::sync::Arc;

use fedflip_fleet::units::plain;
use fedflip_fleet::{Direction, Display, MetricInfo, Metrics};
use fedflip_record::{End, Fold, Header, Initial, Round, Summary};
use serde::Serialize;

use crate::live::{Roster, Run};
use crate::log::Log;
use crate::series::Series;
use crate::tally::{self, Tally, Timeline};

/// After this number of lines about lost devices, only every doubling of their number is worth a line.
const LOST_LINES_MAX: u64 = 20;

/// The run in progress, or the last one, in words and numbers.
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

/// The run in progress, or the last one.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) roster: Arc<Roster>,
    pub(crate) status: RunStatus,
    /// Its summary is copied to the status, which every reader gets.
    fold: Fold,
    /// By metric, in the header's order.
    pub(crate) metrics: Vec<(MetricInfo, Series)>,
    pub(crate) round_secs: Series,
    pub(crate) participants: Series,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) timeline: Timeline,
    /// The value of the headline that the log had last.
    logged: Option<f64>,
    lost_lines: u64,
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

    /// How the run ended, for people; none while it is in progress.
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
    pub(crate) fn new(number: u64, run: &Run<'_>) -> Self {
        let header = run.header.clone();
        let fold = Fold::new(&header);
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
                summary: fold.summary.clone(),
                header,
                lost: 0,
                real_secs: 0.0,
                is_stopped: false,
                detail: None,
            },
            fold,
        }
    }

    pub(crate) fn initial(&mut self, initial: &Initial) {
        self.fold.initial(initial);
        self.status.summary.clone_from(&self.fold.summary);
        self.evaluated(&initial.metrics);
        self.logged = self.headline(&initial.metrics).map(|(_, value)| value);
    }

    pub(crate) fn add(&mut self, round: &Round, real_secs: f64, log: &mut Log) {
        self.status.real_secs = real_secs;
        self.fold.round(round);
        self.status.summary.clone_from(&self.fold.summary);
        self.status.lost += round.lost.len() as u64;
        let secs = self.status.secs();
        self.round_secs.push(secs, round.round_secs);
        self.participants.push(secs, round.cohort.len() as f64);
        tally::add(&mut self.tallies, &self.roster.fleet, round);
        self.timeline.note(&self.roster.fleet, round);
        self.evaluated(&round.metrics);
        for line in [self.progress(round), self.losses(round)].into_iter().flatten() {
            log.write(secs, format!("round {}: {line}", round.round));
        }
    }

    pub(crate) fn end(&mut self, end: Option<&End>, real_secs: f64, log: &mut Log) {
        self.status.real_secs = real_secs;
        self.status.is_stopped = end.is_none();
        if let Some(end) = end {
            self.fold.end(end);
            self.status.summary.clone_from(&self.fold.summary);
            self.status.detail.clone_from(&end.detail);
            self.evaluated(&end.metrics);
        }
        let RunStatus { title, summary, .. } = &self.status;
        let how = self.status.ended().unwrap_or_default();
        log.write(self.status.secs(), format!("after round {}, {title} {how}", summary.rounds));
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
