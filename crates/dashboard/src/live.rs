//! What runs, as it stands now: bounded in memory, whatever the length of the run.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use fedflip_fleet::Fleet;
use fedflip_net::status::{DeviceStatus, FleetSource};
use fedflip_record::{End, Header, Initial, Round};
use serde::Serialize;

use crate::current::Current;
use crate::log::Log;
use crate::series::Points;
use crate::standings::Standings;
use crate::tally::Tally;

/// The most runs of a comparison whose curves are kept; the oldest make room.
pub const EARLIER_MAX: usize = 64;

/// Points of a curve of a run that is over.
pub const EARLIER_POINTS: usize = 200;

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
    pub(crate) fn of(number: u64, run: &Run<'_>) -> Self {
        Self { run: number, fleet: run.fleet.clone(), q: run.q.to_vec() }
    }
}

/// The curves of a run that is over.
#[derive(Debug, Serialize)]
pub struct Earlier {
    /// Such as `3/24 exact-seed1`.
    pub title: String,
    pub label: String,
    /// The curve of each metric.
    pub curves: BTreeMap<String, Points>,
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
    pub(crate) devices: DeviceWatch,
}

/// The status of real devices, from the moment that a server is there to be asked.
#[derive(Clone, Default)]
pub struct DeviceWatch(Arc<OnceLock<FleetSource>>);

impl DeviceWatch {
    /// Asks this server from now on; only the first one counts.
    pub fn ask(&self, source: FleetSource) {
        let _ = self.0.set(source);
    }

    /// In the order of their slots; nobody in a simulation.
    pub fn devices(&self) -> Vec<DeviceStatus> {
        self.0.get().and_then(|source| source()).map(|status| status.devices).unwrap_or_default()
    }
}

impl std::fmt::Debug for DeviceWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceWatch({})", if self.0.get().is_some() { "a server" } else { "nobody" })
    }
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
        current.initial(initial);
    }

    /// One more round, so long after the run began by the clock on the wall.
    pub fn round(&mut self, round: &Round, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.add(round, real_secs, &mut self.log);
    }

    /// The run is over; none if it was interrupted.
    pub fn end(&mut self, end: Option<&End>, real_secs: f64) {
        let Some(current) = &mut self.current else { return };
        self.version += 1;
        current.end(end, real_secs, &mut self.log);
        if let Some(end) = end {
            self.standings.note(&current.status.label, end);
        }
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

    /// Where the status of real devices comes from.
    pub fn device_watch(&self) -> DeviceWatch {
        self.devices.clone()
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
