//! What samplers learn of the times and losses of devices, and who counts if more are invited than needed.

use std::cmp::Ordering;

use fedflip_engine::Cohort;
use fedflip_fleet::bandwidth::{self, DeviceJob, Job};
use fedflip_plan::sampler::Report;
use fedflip_record::Round;

use super::SimWorld;

impl SimWorld<'_> {
    /// The time of a device that has the bandwidth for itself.
    fn alone_secs(&self, job: Job) -> f64 {
        job.compute_secs + self.costs.map_or(0.0, |costs| costs.upload_alone_secs(job))
    }

    /// The times of all devices by the fleet's numbers, once, and only for samplers that observe times.
    pub(super) fn compare_times(&mut self) {
        if self.sampler.observes() && self.alone_secs.is_empty() {
            let all: Vec<usize> = (0..self.fleet.len()).collect();
            let jobs = bandwidth::device_jobs(self.fleet, &all);
            self.alone_secs = jobs.map(|device_job| self.alone_secs(device_job.job)).collect();
        }
    }

    /// Keeps as many of the invited devices as count: those that are ready first, each with the bandwidth for itself.
    ///
    /// Fates follow from the seed, so they are known here. A device that vanishes is never ready, and fills a place only if
    /// too few others do. The others have downloaded the model and trained for nothing; they are not in the records.
    pub(super) fn dismiss_surplus(&mut self, round: u64, cohort: &mut Cohort) {
        let counted = self.sampler.counted();
        if self.draws.len() <= counted {
            return;
        }
        let invited: Vec<usize> = self.draws.iter().map(|draw| draw.device).collect();
        let mut ready: Vec<(bool, f64, usize)> = Vec::with_capacity(invited.len());
        for device_job in self.device_jobs(round, &invited) {
            cohort.push_receiver(device_job);
            let (device, mut job) = (device_job.device, device_job.job);
            job.compute_secs *= self.conditions.jitter(self.seed, round, device);
            let vanishes = self.conditions.vanishes_after(self.seed, round, device).is_some();
            ready.push((vanishes, self.alone_secs(job), device));
        }
        let earlier = |a: &(bool, f64, usize), b: &(bool, f64, usize)| -> Ordering {
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        };
        ready.sort_by(earlier);
        ready.truncate(counted);
        self.draws.retain(|draw| ready.iter().any(|&(_, _, device)| device == draw.device));
    }

    /// The reports of a round, from its record: a resumed run has nothing else. Times follow from the seed; those of the
    /// record may contain waits for other devices.
    pub(super) fn reports(&self, record: &Round) -> Vec<Report> {
        let is_lost = |device: usize| record.lost.iter().any(|lost| lost.device == device);
        let jobs = self.device_jobs(record.round, &record.cohort).filter(|job| !is_lost(job.device));
        let report = |(device_job, &train_loss): (DeviceJob, &f64)| {
            let DeviceJob { device, job } = device_job;
            let jitter = self.conditions.jitter(self.seed, record.round, device);
            let job = Job { compute_secs: job.compute_secs * jitter, ..job };
            Report { device, train_loss, alone_secs: self.alone_secs(job) }
        };
        jobs.zip(&record.train_losses).map(report).collect()
    }
}
