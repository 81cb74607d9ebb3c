//! Who arrives in a round, who is lost, and when: the part of a simulated round that needs no training.

use fedflip_engine::Lead;
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Allocation;

/// Why a device is lost that vanishes in the middle of a round.
pub const VANISHED: &str = "vanished";

/// A round whose bandwidth is divided.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    /// The round, counted from 1: it decides the random numbers.
    pub round: u64,
    /// The cohort and its shares of the bandwidth.
    pub allocation: &'a Allocation,
    /// After this time the round is over for devices that have not reported.
    pub deadline_secs: Option<f64>,
    /// The time before the cohort computes, which the compute times of the allocation include.
    pub lead: Lead,
}

/// What becomes of the devices of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fates {
    /// The devices that report, in device order, with the seconds until their upload begins and of the upload.
    pub arrived: Vec<(usize, [f64; 2])>,
    /// The devices that vanish before the deadline.
    pub vanished: Vec<usize>,
    /// The devices that have not reported at the deadline.
    pub late: Vec<usize>,
    /// The time until the last device has reported or vanished, or until the deadline if a device misses it.
    pub round_secs: f64,
}

impl Timing<'_> {
    /// The fates of all devices. They follow from the seed, so they are known before anything is trained.
    pub fn fates(&self, conditions: Conditions, seed: u64) -> Fates {
        let Self { round, allocation, deadline_secs, lead } = *self;
        let mut fates = Fates::default();
        let mut last_secs = 0.0_f64;
        for share in &allocation.shares {
            let jitter = conditions.jitter(seed, round, share.device);
            // What comes first does not vary.
            let compute_secs = lead.secs() + (share.compute_secs - lead.secs()) * jitter;
            let begin_secs = compute_secs.max(share.upload_from_secs);
            let finish_secs = begin_secs + share.upload_secs;
            // A device that is drawn for its answer has answered.
            let vanishes_secs = |part: f64| lead.asked_secs + part * (finish_secs - lead.asked_secs);
            match conditions.vanishes_after(seed, round, share.device).map(vanishes_secs) {
                Some(secs) if deadline_secs.is_none_or(|deadline| secs <= deadline) => {
                    last_secs = last_secs.max(secs);
                    fates.vanished.push(share.device);
                }
                Some(_) => fates.late.push(share.device),
                None if deadline_secs.is_some_and(|deadline| finish_secs > deadline) => {
                    fates.late.push(share.device);
                }
                None => {
                    last_secs = last_secs.max(finish_secs);
                    fates.arrived.push((share.device, [begin_secs, share.upload_secs]));
                }
            }
        }
        let as_planned = conditions.compute_jitter <= 0.0 && fates.arrived.len() == allocation.shares.len();
        fates.round_secs = match deadline_secs {
            Some(deadline_secs) if !fates.late.is_empty() => deadline_secs,
            _ if as_planned => allocation.round_secs,
            _ => last_secs,
        };
        fates
    }

    /// The time that a round takes on the clock. Answers take their time also if nobody is drawn for them.
    pub fn taken_secs(&self, round_secs: f64, overhead_secs: f64) -> f64 {
        let answered_secs = if self.lead.asked_secs > 0.0 { self.lead.secs() } else { 0.0 };
        round_secs.max(answered_secs) + overhead_secs
    }
}
