//! The division of the band among the devices of a round, with the times that come before and after their work.

use fedflip_fleet::bandwidth::{Allocation, DeviceJob, Job};
use fedflip_fleet::deadline::{self, Deadline};

use crate::run::Engine;
use crate::world::{Cohort, World};

/// The shares of a round, and its times beside the work of the devices.
#[derive(Debug)]
pub(crate) struct Divided {
    pub allocation: Allocation,
    pub deadline_secs: Option<f64>,
    pub download_secs: f64,
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
            return Divided { allocation, deadline_secs: None, download_secs: 0.0, overhead_secs: 0.0 };
        }
        let device_jobs = cohort.device_jobs();
        let download_secs = self.costs.downlink.secs(device_jobs.iter().map(|device_job| device_job.job));
        let device_jobs = delayed(device_jobs, download_secs, delayed_jobs);
        let deadline_secs = self.deadline_secs.or_else(|| world.deadline_secs(device_jobs));
        let deadline = deadline_secs.map(|secs| Deadline { secs, margin: self.deadline_margin });
        let allocation = deadline::divide_by(device_jobs, self.costs.band, self.division, deadline);
        Divided { allocation, deadline_secs, download_secs, overhead_secs: self.costs.overhead_secs }
    }
}

/// The work of devices that begin to compute after a download.
fn delayed<'b>(
    device_jobs: &'b [DeviceJob],
    download_secs: f64,
    delayed: &'b mut Vec<DeviceJob>,
) -> &'b [DeviceJob] {
    if download_secs <= 0.0 {
        return device_jobs;
    }
    delayed.clear();
    delayed.extend(device_jobs.iter().map(|&DeviceJob { device, job }| DeviceJob {
        device,
        job: Job { compute_secs: download_secs + job.compute_secs, ..job },
    }));
    delayed
}
