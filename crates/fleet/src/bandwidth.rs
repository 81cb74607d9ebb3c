//! How the devices of a cohort share one bandwidth: the paper's adaptive allocation, in which all finish together, and the
//! equal split to compare it with.

use crate::error::FleetError;
pub use crate::finish::{Finish, Job, finish_together};
use crate::fleet::Fleet;
use crate::link::Band;

/// One device's part of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Position in the fleet.
    pub device: usize,
    /// The allocated bandwidth f_n in Mbit/s.
    pub mbps: f64,
    /// The compute time τ_n in seconds.
    pub compute_secs: f64,
    /// The upload begins no earlier than this, counted from the start of the round, because others use the bandwidth
    /// until then. 0 unless a deadline makes devices take turns.
    pub upload_from_secs: f64,
    /// The upload time t_n/f_n in seconds.
    pub upload_secs: f64,
}

impl Share {
    /// The start of the upload, if the device computes for τ_n.
    pub fn upload_begin_secs(&self) -> f64 {
        self.compute_secs.max(self.upload_from_secs)
    }

    /// The end of the upload, if the device computes for `compute_secs`.
    pub fn finish_secs(&self, compute_secs: f64) -> f64 {
        compute_secs.max(self.upload_from_secs) + self.upload_secs
    }
}

/// The round of a realised cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The time at which the last device finishes.
    pub round_secs: f64,
    /// One share per device, in the order of the cohort.
    pub shares: Vec<Share>,
}

/// A device of the cohort, and its job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceJob {
    /// Position in the fleet.
    pub device: usize,
    /// The job in this round.
    pub job: Job,
}

/// How the bandwidth is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// All devices finish together: the shortest possible round.
    #[default]
    Adaptive,
    /// The baseline: every device gets the same share, and the last one to finish ends the round.
    Equal,
}

/// The jobs of a cohort of positions in `fleet`. A position outside the fleet has no job; [`allocate`] refuses it.
pub fn device_jobs<'a>(
    fleet: &'a Fleet,
    cohort: &'a [usize],
) -> impl Iterator<Item = DeviceJob> + Clone + 'a {
    cohort.iter().filter_map(|&device| {
        let job = Job {
            compute_secs: *fleet.compute_secs().get(device)?,
            load_mbit: *fleet.comm_secs().get(device)?,
            link: fleet.link(device),
        };
        Some(DeviceJob { device, job })
    })
}

/// Divides the bandwidth among a cohort of ascending positions in `fleet`.
pub fn allocate(
    fleet: &Fleet,
    cohort: &[usize],
    band: impl Into<Band>,
    division: Division,
) -> Result<Allocation, FleetError> {
    if let Some(pair) = cohort.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(FleetError::UnorderedPosition { position: pair[1], before: pair[0] });
    }
    // Of ascending positions the last is the largest.
    if let Some(&position) = cohort.last().filter(|last| **last >= fleet.len()) {
        return Err(FleetError::BadPosition { position, devices: fleet.len() });
    }
    Ok(divide(device_jobs(fleet, cohort), band, division))
}

/// Divides the bandwidth among the devices of a cohort.
pub fn divide(
    device_jobs: impl Iterator<Item = DeviceJob> + Clone,
    band: impl Into<Band>,
    division: Division,
) -> Allocation {
    let band = band.into();
    let share = |DeviceJob { device, job }: DeviceJob, mbps: f64, upload_secs: f64| Share {
        device,
        mbps,
        compute_secs: job.compute_secs,
        upload_from_secs: 0.0,
        upload_secs,
    };
    match division {
        Division::Adaptive => {
            let finish = finish_together(device_jobs.clone().map(|device_job| device_job.job), band);
            let shares = device_jobs.map(|device_job| {
                let Job { compute_secs, load_mbit, .. } = device_job.job;
                let upload_secs = if load_mbit > 0.0 { finish.upload_secs(compute_secs) } else { 0.0 };
                share(device_job, finish.share_mbps(device_job.job), upload_secs)
            });
            Allocation { round_secs: finish.round_secs(), shares: shares.collect() }
        }
        Division::Equal => {
            let part = band.total() / device_jobs.clone().count().max(1) as f64;
            let shares: Vec<Share> = device_jobs
                .map(|device_job| {
                    let mbps = band.rate_mbps(part, device_job.job.link);
                    share(device_job, mbps, device_job.job.load_mbit / mbps)
                })
                .collect();
            let finish_secs = shares.iter().map(|share| share.finish_secs(share.compute_secs));
            Allocation { round_secs: finish_secs.fold(0.0, f64::max), shares }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Mbps;

    #[test]
    fn positions_that_are_not_a_cohort_are_refused() {
        let columns = crate::Columns {
            compute_secs: &[1.0; 3],
            comm_secs: &[1.0; 3],
            samples: &[1.0; 3],
            ..crate::Columns::default()
        };
        let fleet = Fleet::from_columns(columns).unwrap();
        let allocate =
            |cohort: &[usize]| allocate(&fleet, cohort, Mbps::new(1.0).unwrap(), Division::Adaptive);
        assert_eq!(allocate(&[]).unwrap().round_secs, 0.0);
        assert_eq!(allocate(&[0, 2]).unwrap().shares.len(), 2);
        assert_eq!(allocate(&[0, 3]), Err(FleetError::BadPosition { position: 3, devices: 3 }));
        for (unordered, position, before) in [(&[1, 1], 1, 1), (&[2, 0], 0, 2)] {
            assert_eq!(allocate(unordered), Err(FleetError::UnorderedPosition { position, before }));
        }
        assert_eq!(device_jobs(&fleet, &[1, usize::MAX]).count(), 1);
    }

    #[test]
    fn equal_parts_of_the_band_are_cut_at_the_limit_of_a_link() {
        let columns = crate::Columns {
            compute_secs: &[1.0; 2],
            comm_secs: &[6.0; 2],
            samples: &[1.0; 2],
            link_mbps: Some(&[2.0, 100.0]),
            ..crate::Columns::default()
        };
        let fleet = Fleet::from_columns(columns).unwrap();
        let round = allocate(&fleet, &[0, 1], Mbps::new(6.0).unwrap(), Division::Equal).unwrap();
        let rates: Vec<f64> = round.shares.iter().map(|share| share.mbps).collect();
        assert_eq!((rates, round.round_secs), (vec![2.0, 3.0], 4.0));
    }
}
