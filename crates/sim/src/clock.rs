//! The virtual clock for programs that have rounds of their own: cohorts in, times and losses out.

use std::sync::Arc;

use fedflip_engine::{Cohort, Divided};
use fedflip_fleet::bandwidth::{self, Division};
use fedflip_fleet::deadline::Deadline;
use fedflip_fleet::{Conditions, Fleet, FleetError, RoundCosts};

use crate::fates::{Fates, Timing};

/// A clock that times rounds as [`SimWorld`](crate::SimWorld) does: with shared bandwidth, jitter, fading, drop-outs and
/// deadlines. Nothing is trained.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    /// The fleet whose times the clock counts.
    pub fleet: Arc<Fleet>,
    /// The bandwidth that uploads share, and what a round costs besides.
    pub costs: RoundCosts,
    /// How the devices share the bandwidth.
    pub division: Division,
    /// How the world departs from the fleet's numbers.
    pub conditions: Conditions,
    /// The deadline of every round.
    pub deadline_secs: Option<f64>,
    /// The share of a deadline that is kept free when the bandwidth is divided.
    pub deadline_margin: f64,
    /// The seed of jitter, fading and drop-outs.
    pub seed: u64,
    /// The virtual time since the run began.
    pub now_secs: f64,
}

/// The work of a round, as far as it differs from what the fleet says.
#[derive(Clone, Copy, Debug)]
pub struct RoundWork<'a> {
    /// The round, counted from 1: it decides the random numbers.
    pub round: u64,
    /// Ascending positions in the fleet.
    pub cohort: &'a [usize],
    /// The payload of each device in Mbit, in the order of the cohort; the fleet's if there is none.
    pub payload_mbit: Option<&'a [f64]>,
    /// The factor on compute times.
    pub compute_factor: f64,
    /// A deadline of this round; the earlier one of it and the clock's holds.
    pub deadline_secs: Option<f64>,
}

/// A round on the clock.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedRound {
    /// The virtual time at its start.
    pub start_secs: f64,
    /// How long the round took, with its overhead.
    pub round_secs: f64,
    /// The shares of the bandwidth, and the time before the cohort computes.
    pub divided: Divided,
    /// What became of the devices.
    pub fates: Fates,
}

impl VirtualClock {
    /// Times one round, and moves the clock to its end.
    pub fn round(&mut self, work: RoundWork<'_>) -> Result<TimedRound, FleetError> {
        let RoundWork { round, cohort: devices, payload_mbit, compute_factor, deadline_secs } = work;
        // This refuses positions that are no cohort.
        bandwidth::allocate(&self.fleet, devices, self.costs.band, self.division)?;
        let mut cohort = Cohort::default();
        for (place, mut device_job) in bandwidth::device_jobs(&self.fleet, devices).enumerate() {
            if let Some(load_mbit) = payload_mbit.and_then(|payloads| payloads.get(place)) {
                device_job.job.load_mbit = *load_mbit;
            }
            device_job.job.compute_secs *= compute_factor;
            device_job.job.load_mbit *= self.conditions.fade(self.seed, round, device_job.device);
            cohort.push(device_job, 1.0);
        }
        let deadline_secs = match (self.deadline_secs, deadline_secs) {
            (Some(own), Some(given)) => Some(own.min(given)),
            (own, given) => own.or(given),
        };
        let margin = self.deadline_margin;
        let deadline = deadline_secs.map(|secs| Deadline { secs, margin });
        let divided = Divided::of(&cohort, &self.costs, self.division, &mut Vec::new(), |_| deadline);
        let timing = Timing { round, allocation: &divided.allocation, deadline_secs, lead: divided.lead };
        let fates = timing.fates(self.conditions, self.seed);
        let start_secs = self.now_secs;
        self.now_secs += timing.taken_secs(fates.round_secs, divided.overhead_secs);
        Ok(TimedRound { start_secs, round_secs: self.now_secs - start_secs, divided, fates })
    }
}
