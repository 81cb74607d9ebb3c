//! The division of the bandwidth among the devices of a round, with the times that come before and after their work.

use fedflip_fleet::RoundCosts;
use fedflip_fleet::bandwidth::{Allocation, DeviceJob, Division};
use fedflip_fleet::deadline::{self, Deadline};

use crate::lead::Lead;
use crate::run::Engine;
use crate::world::{Cohort, World};

/// The shares of a round, and its times beside the work of the devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Divided {
    /// The cohort and its shares of the bandwidth.
    pub allocation: Allocation,
    /// After this time the round is over for devices that have not reported.
    pub deadline_secs: Option<f64>,
    /// The time before the cohort computes.
    pub lead: Lead,
    /// The time that the round takes in addition.
    pub overhead_secs: f64,
}

impl Divided {
    /// Divides the bandwidth among a cohort, whose downloads come first. `deadline` is asked with the work of the devices,
    /// counted from the start of the round; `delayed_jobs` is memory that rounds use again.
    pub fn of(
        cohort: &Cohort,
        costs: &RoundCosts,
        division: Division,
        delayed_jobs: &mut Vec<DeviceJob>,
        deadline: impl FnOnce(&[DeviceJob]) -> Option<Deadline>,
    ) -> Self {
        let lead = Lead::of(cohort, costs, division);
        let device_jobs = lead.delayed(cohort.device_jobs(), delayed_jobs);
        let deadline = deadline(device_jobs);
        let allocation = deadline::divide_by(device_jobs, costs.band, division, deadline);
        let deadline_secs = deadline.map(|deadline| deadline.secs);
        Self { allocation, deadline_secs, lead, overhead_secs: costs.overhead_secs }
    }
}

impl Engine<'_> {
    /// Divides the bandwidth among a cohort. Devices that work without rounds have divided it already, and their world's clock
    /// counts everything else.
    pub(crate) fn divided<W: World>(
        &self,
        world: &W,
        cohort: &Cohort,
        delayed_jobs: &mut Vec<DeviceJob>,
    ) -> Divided {
        if !cohort.worked().is_empty() {
            let shares = cohort.worked().to_vec();
            let finish_secs = shares.iter().map(|share| share.finish_secs(share.compute_secs));
            let allocation = Allocation { round_secs: finish_secs.fold(0.0, f64::max), shares };
            return Divided { allocation, deadline_secs: None, lead: Lead::default(), overhead_secs: 0.0 };
        }
        Divided::of(cohort, &self.costs, self.division, delayed_jobs, |device_jobs| {
            let secs = self.deadline_secs.or_else(|| world.deadline_secs(device_jobs))?;
            Some(Deadline { secs, margin: self.deadline_margin })
        })
    }
}
