//! What a round takes before its cohort computes: the downloads of the model, and the answers of devices that are asked.

use fedflip_fleet::RoundCosts;
use fedflip_fleet::bandwidth::{self, DeviceJob, Division, Job};

use crate::world::Cohort;

/// The time before the cohort of a round computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lead {
    /// The time until all devices have the model.
    pub download_secs: f64,
    /// The time from then until the server has the answers of all devices that are asked.
    pub asked_secs: f64,
}

impl Lead {
    /// Devices share the downlink as in any round. Their answers share the bandwidth of uploads, divided as it is for updates.
    pub(crate) fn of(cohort: &Cohort, costs: &RoundCosts, division: Division) -> Self {
        let download_secs = costs.downlink.secs(cohort.receivers().iter().map(|receiver| receiver.job));
        let asked_secs = match cohort.answers() {
            [] => 0.0,
            answers => bandwidth::divide(answers.iter().copied(), costs.band, division).round_secs,
        };
        Self { download_secs, asked_secs }
    }

    /// The seconds of the question and the answers together.
    pub fn secs(&self) -> f64 {
        self.download_secs + self.asked_secs
    }

    /// The work of devices that begin to compute afterwards, counted from the start of the round.
    pub(crate) fn delayed<'b>(
        &self,
        device_jobs: &'b [DeviceJob],
        delayed: &'b mut Vec<DeviceJob>,
    ) -> &'b [DeviceJob] {
        if self.secs() <= 0.0 {
            return device_jobs;
        }
        delayed.clear();
        delayed.extend(device_jobs.iter().map(|&DeviceJob { device, job }| DeviceJob {
            device,
            job: Job { compute_secs: self.secs() + job.compute_secs, ..job },
        }));
        delayed
    }
}
