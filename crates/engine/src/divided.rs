//! The division of the band among the devices of a round, with the times that come before and after their work.

use fedflip_fleet::bandwidth::{Allocation, DeviceJob};
use fedflip_fleet::deadline::{self, Deadline};

use crate::lead::Lead;
use crate::run::Engine;
use crate::world::{Cohort, World};

/// The shares of a round, and its times beside the work of the devices.
#[derive(Debug)]
pub(crate) struct Divided {
    pub allocation: Allocation,
    pub deadline_secs: Option<f64>,
    pub lead: Lead,
    pub overhead_secs: f64,
}

impl Engine<'_> {
    /// Divides the band among a cohort, whose downloads come first. Devices that work without rounds have divided it
    /// already, and their world's clock counts everything else.
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
        let lead = Lead::of(cohort, &self.costs, self.division);
        let device_jobs = lead.delayed(cohort.device_jobs(), delayed_jobs);
        let deadline_secs = self.deadline_secs.or_else(|| world.deadline_secs(device_jobs));
        let deadline = deadline_secs.map(|secs| Deadline { secs, margin: self.deadline_margin });
        let allocation = deadline::divide_by(device_jobs, self.costs.band, self.division, deadline);
        Divided { allocation, deadline_secs, lead, overhead_secs: self.costs.overhead_secs }
    }
}
