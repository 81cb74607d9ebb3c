//! What a reader is sent: everything at first, then what is new.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::live::{Current, Earlier, Live, Phase};
use crate::log::Line;
use crate::series::{Point, Seen, Series, flat};
use crate::tally::Timeline;

/// How much a reader has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The version of the view; none before anything was read.
    version: Option<u64>,
    run: u64,
    lines: u64,
    curves: [Seen; 4],
}

/// What a reader lacks.
#[derive(Debug, Serialize)]
pub struct Update {
    /// It replaces what the reader has.
    pub whole: bool,
    /// Of the view that it leads to.
    pub version: u64,
    status: Status,
    curves: Option<Curves>,
    timeline: Option<Timeline>,
    log: Vec<Line>,
    /// Only in a whole one: runs that are over do not change.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "earlier")]
    earlier: Option<Vec<Arc<Earlier>>>,
}

/// The run in numbers.
#[derive(Debug, Serialize)]
struct Status {
    /// `waiting`, `running`, `ended` or `stopped`.
    state: &'static str,
    /// How it ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Runs so far.
    runs: u64,
    #[serde(flatten)]
    run: Option<RunStatus>,
}

#[derive(Debug, Serialize)]
struct RunStatus {
    title: String,
    label: String,
    task: String,
    scheme: String,
    /// As text: a browser's numbers have 53 bits.
    seed: String,
    devices: usize,
    parameters: usize,
    bandwidth_mbps: f64,
    target_accuracy: Option<f64>,
    target_loss: Option<f64>,
    expected_rounds: Option<f64>,
    expected_round_secs: Option<f64>,
    expected_participants: f64,
    round: u64,
    secs: f64,
    accuracy: Option<f64>,
    loss: Option<f64>,
    mean_participants: f64,
    empty_rounds: u64,
    biased_rounds: u64,
    lost: u64,
    real_secs: f64,
    folder: Option<String>,
}

#[derive(Debug, Serialize)]
struct Curves {
    accuracy: Growth,
    loss: Growth,
    round_secs: Growth,
    participants: Growth,
}

/// How a curve goes on.
#[derive(Debug, Serialize)]
struct Growth {
    #[serde(serialize_with = "flat_points")]
    new: Vec<Point>,
    /// The end, which replaces the last one.
    #[serde(serialize_with = "flat_points")]
    tail: Vec<Point>,
}

#[expect(clippy::ptr_arg, reason = "the signature that serde asks for")]
fn flat_points<S: Serializer>(points: &Vec<Point>, serializer: S) -> Result<S::Ok, S::Error> {
    flat(points, serializer)
}

fn earlier<S: Serializer>(runs: &Option<Vec<Arc<Earlier>>>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        title: &'a str,
        label: &'a str,
        #[serde(serialize_with = "flat_points")]
        accuracy: &'a Vec<Point>,
        #[serde(serialize_with = "flat_points")]
        loss: &'a Vec<Point>,
    }
    let runs = runs.as_deref().unwrap_or_default();
    let mut list = serializer.serialize_seq(Some(runs.len()))?;
    for run in runs {
        let Earlier { title, label, accuracy, loss } = &**run;
        list.serialize_element(&Shown { title, label, accuracy, loss })?;
    }
    list.end()
}

impl Live {
    /// What has happened since, and how far that leads; none if nothing has. A reader whose curves were merged
    /// since, or that knows another run, gets everything: there is no queue, so a slow reader costs nothing.
    pub fn since(&self, cursor: Cursor) -> Option<(Update, Cursor)> {
        if cursor.version == Some(self.version) {
            return None;
        }
        let run = self.runs;
        let growth = match &self.current {
            Some(current) if cursor.run == run => current.growth(cursor.curves),
            _ => None,
        };
        let whole = growth.is_none();
        let update = Update {
            whole,
            version: self.version,
            status: self.status(),
            curves: growth.or_else(|| self.current.as_ref().map(Current::all)),
            timeline: self.current.as_ref().map(|current| current.latest.timeline(&current.roster.fleet)),
            log: self.log.since(if whole { 0 } else { cursor.lines }),
            earlier: whole.then(|| self.earlier.iter().cloned().collect()),
        };
        let curves = self.current.as_ref().map(|current| current.curves.each_ref().map(Series::seen));
        let next = Cursor {
            version: Some(self.version),
            run,
            lines: self.log.written(),
            curves: curves.unwrap_or_default(),
        };
        Some((update, next))
    }

    fn status(&self) -> Status {
        let Some(current) = &self.current else {
            return Status { state: "waiting", ended: None, runs: self.runs, run: None };
        };
        let state = match current.phase {
            Phase::Running => "running",
            Phase::Ended(_) => "ended",
            Phase::Stopped => "stopped",
        };
        let ended = (current.phase != Phase::Running).then(|| match &current.detail {
            Some(detail) => format!("{}: {detail}", current.phase.words()),
            None => current.phase.words().to_owned(),
        });
        Status { state, ended, runs: self.runs, run: Some(current.status()) }
    }
}

impl Current {
    fn status(&self) -> RunStatus {
        let header = &self.header;
        RunStatus {
            title: self.title.clone(),
            label: self.label.clone(),
            task: header.task.clone(),
            scheme: header.scheme.clone(),
            seed: header.seed.to_string(),
            devices: header.devices,
            parameters: header.parameters,
            bandwidth_mbps: header.bandwidth_mbps,
            target_accuracy: header.target_accuracy,
            target_loss: header.target_loss,
            expected_rounds: header.expected_rounds,
            expected_round_secs: header.expected_round_secs,
            expected_participants: header.expected_participants,
            round: self.round,
            secs: self.secs,
            accuracy: self.accuracy,
            loss: self.loss,
            mean_participants: self.taken as f64 / self.round.max(1) as f64,
            empty_rounds: self.empty_rounds,
            biased_rounds: self.biased_rounds,
            lost: self.lost,
            real_secs: self.real_secs,
            folder: self.folder.clone(),
        }
    }

    /// None if some curve is no longer the one that was seen.
    fn growth(&self, seen: [Seen; 4]) -> Option<Curves> {
        let mut grown = self.curves.iter().zip(seen).map(|(curve, seen)| {
            let new = curve.since(seen)?.to_vec();
            Some(Growth { new, tail: curve.tail() })
        });
        let mut next = || grown.next().flatten();
        Some(Curves { accuracy: next()?, loss: next()?, round_secs: next()?, participants: next()? })
    }

    fn all(&self) -> Curves {
        let [accuracy, loss, round_secs, participants] = self
            .curves
            .each_ref()
            .map(|curve| Growth { new: curve.points().to_vec(), tail: curve.tail() });
        Curves { accuracy, loss, round_secs, participants }
    }
}
