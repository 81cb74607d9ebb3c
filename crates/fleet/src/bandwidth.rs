//! How devices share one bandwidth: the paper's adaptive allocation, and the equal split to compare it with.
//!
//! The devices of a cohort finish together. The round time T̂(K) is the one root of
//! Σ_{n∈K} t_n/(T − τ_n) = f_tot above max τ, and device n gets f_n = t_n/(T̂ − τ_n). The same equation
//! with q_n·t_n over the whole fleet is the paper's T(q) under the expected bandwidth, so it is solved
//! here for both.

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::units::Mbps;

/// A computation, followed by an upload over the shared bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// τ: the upload uses no bandwidth before this time.
    pub compute_secs: f64,
    /// The payload in Mbit: t_n (or q_n·t_n in expectation).
    pub load_mbit: f64,
}

/// The common finish of jobs that share one bandwidth.
///
/// Kept as two parts, because T̂ − τ_n is what the shares divide by: with τ = 1000 s and an upload of a
/// microsecond, the difference of two rounded sums would have lost it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// max τ.
    pub slowest_compute_secs: f64,
    /// T̂ − max τ.
    pub tail_secs: f64,
}

impl Finish {
    /// T̂.
    pub fn round_secs(self) -> f64 {
        self.slowest_compute_secs + self.tail_secs
    }

    /// T̂ − τ: the time that is left for the upload.
    pub fn upload_secs(self, compute_secs: f64) -> f64 {
        self.tail_secs + (self.slowest_compute_secs - compute_secs)
    }

    /// The bandwidth with which `job` finishes exactly at T̂; 0 for a job with nothing to send.
    pub fn share_mbps(self, job: Job) -> f64 {
        if job.load_mbit > 0.0 { job.load_mbit / self.upload_secs(job.compute_secs) } else { 0.0 }
    }
}

/// Solves Σ load/(T − τ) = bandwidth for T > max τ.
///
/// Newton's method on 1/Σ(·) − 1/bandwidth, as a function of the tail T − max τ. That function is increasing
/// and concave (it is the parallel sum of straight lines), so from any point below the root Newton climbs
/// to it without ever passing it; for a single job, or for equal ones, it is a straight line and one step
/// is exact. Jobs with nothing to send only hold T up to their τ: if the others are done by then, the
/// tail is 0 and part of the bandwidth stays unused. Without jobs, T is 0.
pub fn finish_together<I>(jobs: I, bandwidth: Mbps) -> Finish
where
    I: Iterator<Item = Job> + Clone,
{
    let bandwidth_mbps = bandwidth.get();
    let slowest = jobs.clone().fold(0.0_f64, |slowest, job| slowest.max(job.compute_secs));
    let senders = jobs.filter(|job| job.load_mbit > 0.0);

    // With the whole bandwidth, each job would need this much: the root is at least the largest of these.
    let lower_bound =
        |tail: f64, job: Job| tail.max(job.load_mbit / bandwidth_mbps - (slowest - job.compute_secs));
    let mut tail = senders.clone().fold(0.0, lower_bound);

    // Convergence from below is quadratic: six steps are usual, and the bound only guards the loop.
    for _ in 0..100 {
        let (mut demand, mut slope) = (0.0, 0.0);
        for job in senders.clone() {
            let share = job.load_mbit / (tail + (slowest - job.compute_secs));
            demand += share;
            slope += share * share / job.load_mbit;
        }
        let step = demand * (demand - bandwidth_mbps) / (bandwidth_mbps * slope);
        // NaN where no job sends.
        if step.is_nan() || step <= tail * 1e-15 {
            break;
        }
        tail += step;
    }
    Finish { slowest_compute_secs: slowest, tail_secs: tail }
}

/// One device's part of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Position in the fleet.
    pub device: usize,
    /// f_n.
    pub mbps: f64,
    /// τ_n.
    pub compute_secs: f64,
    /// The upload begins no earlier than this, counted from the start of the round, because others use the bandwidth
    /// until then. 0 unless a deadline makes devices take turns.
    pub upload_from_secs: f64,
    /// t_n/f_n.
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
        };
        Some(DeviceJob { device, job })
    })
}

/// Divides the bandwidth among a cohort of ascending positions in `fleet`.
pub fn allocate(
    fleet: &Fleet,
    cohort: &[usize],
    bandwidth: Mbps,
    division: Division,
) -> Result<Allocation, FleetError> {
    if let Some(pair) = cohort.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(FleetError::UnorderedPosition { position: pair[1], before: pair[0] });
    }
    // Of ascending positions the last is the largest.
    if let Some(&position) = cohort.last().filter(|last| **last >= fleet.len()) {
        return Err(FleetError::BadPosition { position, devices: fleet.len() });
    }
    Ok(divide(device_jobs(fleet, cohort), bandwidth, division))
}

/// Divides the bandwidth among the devices of a cohort.
pub fn divide(
    device_jobs: impl Iterator<Item = DeviceJob> + Clone,
    bandwidth: Mbps,
    division: Division,
) -> Allocation {
    let share = |DeviceJob { device, job }: DeviceJob, mbps: f64, upload_secs: f64| Share {
        device,
        mbps,
        compute_secs: job.compute_secs,
        upload_from_secs: 0.0,
        upload_secs,
    };
    match division {
        Division::Adaptive => {
            let finish = finish_together(device_jobs.clone().map(|device_job| device_job.job), bandwidth);
            let shares = device_jobs.map(|device_job| {
                let Job { compute_secs, load_mbit } = device_job.job;
                let upload_secs = if load_mbit > 0.0 { finish.upload_secs(compute_secs) } else { 0.0 };
                share(device_job, finish.share_mbps(device_job.job), upload_secs)
            });
            Allocation { round_secs: finish.round_secs(), shares: shares.collect() }
        }
        Division::Equal => {
            let mbps = bandwidth.get() / device_jobs.clone().count().max(1) as f64;
            let shares: Vec<Share> = device_jobs
                .map(|device_job| share(device_job, mbps, device_job.job.load_mbit / mbps))
                .collect();
            let finish_secs = shares.iter().map(|share| share.finish_secs(share.compute_secs));
            Allocation { round_secs: finish_secs.fold(0.0, f64::max), shares }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn band(mbps: f64) -> Mbps {
        Mbps::new(mbps).unwrap()
    }

    fn round_secs(jobs: &[Job], mbps: f64) -> f64 {
        finish_together(jobs.iter().copied(), band(mbps)).round_secs()
    }

    fn job(compute_secs: f64, load_mbit: f64) -> Job {
        Job { compute_secs, load_mbit }
    }

    #[test]
    fn closed_forms() {
        assert_eq!(round_secs(&[], 100.0), 0.0, "an empty cohort");
        assert_eq!(round_secs(&[job(2.0, 50.0)], 100.0), 2.5, "alone on the bandwidth");
        assert_eq!(round_secs(&[job(1.0, 10.0); 4], 10.0), 5.0, "four equal devices");
        // 1/(T−1) + 1/(T−2) = 1 has the root (5 + √5)/2 above 2.
        let two = round_secs(&[job(1.0, 1.0), job(2.0, 1.0)], 1.0);
        assert!((two - (5.0 + 5.0_f64.sqrt()) / 2.0).abs() < 1e-14, "{two}");
    }

    #[test]
    fn positions_that_are_not_a_cohort_are_refused() {
        let columns = crate::Columns {
            compute_secs: &[1.0; 3],
            comm_secs: &[1.0; 3],
            samples: &[1.0; 3],
            ..crate::Columns::default()
        };
        let fleet = Fleet::from_columns(columns).unwrap();
        let allocate = |cohort: &[usize]| allocate(&fleet, cohort, band(1.0), Division::Adaptive);
        assert_eq!(allocate(&[]).unwrap().round_secs, 0.0);
        assert_eq!(allocate(&[0, 2]).unwrap().shares.len(), 2);
        assert_eq!(allocate(&[0, 3]), Err(FleetError::BadPosition { position: 3, devices: 3 }));
        for (unordered, position, before) in [(&[1, 1], 1, 1), (&[2, 0], 0, 2)] {
            assert_eq!(allocate(unordered), Err(FleetError::UnorderedPosition { position, before }));
        }
        assert_eq!(device_jobs(&fleet, &[1, usize::MAX]).count(), 1);
    }

    #[test]
    fn nothing_to_send_only_holds_the_round_up() {
        assert_eq!(round_secs(&[job(3.0, 0.0), job(7.0, 0.0)], 1.0), 7.0);
        assert_eq!(round_secs(&[job(9.0, 0.0), job(1.0, 2.0)], 1.0), 9.0, "the sender is done at 3");
        assert_eq!(round_secs(&[job(2.0, 0.0), job(1.0, 5.0)], 1.0), 6.0, "the sender is done at 6");
    }

    #[test]
    fn a_tiny_upload_after_a_long_computation_keeps_its_digits() {
        let jobs = [job(1e9, 1e-9), job(1e9, 3e-9)];
        let finish = finish_together(jobs.iter().copied(), band(1e9));
        assert!((finish.tail_secs / 4e-18 - 1.0).abs() < 1e-12, "{finish:?}");
        assert!((finish.share_mbps(jobs[1]) / 7.5e8 - 1.0).abs() < 1e-12);
    }

    fn any_job() -> impl Strategy<Value = Job> {
        let log = |low: f64, high: f64| (low..high).prop_map(f64::exp);
        let zero_or = |log| prop_oneof![1 => Just(0.0), 9 => log];
        (zero_or(log(-9.0, 9.0).boxed()), log(-9.0, 9.0))
            .prop_map(|(compute_secs, load_mbit)| Job { compute_secs, load_mbit })
    }

    proptest! {
        #[test]
        fn all_finish_together_and_shares_sum_to_the_bandwidth(
            jobs in prop::collection::vec(any_job(), 1..40), mbps in 0.01..1000.0_f64,
        ) {
            let finish = finish_together(jobs.iter().copied(), band(mbps));
            let total: f64 = jobs.iter().map(|&job| finish.share_mbps(job)).sum();
            prop_assert!((total / mbps - 1.0).abs() < 1e-11, "shares sum to {total}, not {mbps}");
            for job in jobs {
                let end = job.compute_secs + job.load_mbit / finish.share_mbps(job);
                prop_assert!((end / finish.round_secs() - 1.0).abs() < 1e-11);
            }
        }

        #[test]
        fn more_bandwidth_is_faster_and_more_devices_are_slower(
            jobs in prop::collection::vec(any_job(), 1..20), extra in any_job(),
            mbps in 0.01..1000.0_f64, factor in 1.01..10.0_f64,
        ) {
            let base = round_secs(&jobs, mbps);
            prop_assert!(round_secs(&jobs, mbps * factor) < base);
            let joined: Vec<Job> = jobs.iter().copied().chain([extra]).collect();
            prop_assert!(round_secs(&joined, mbps) >= base * (1.0 - 1e-12));
        }

        #[test]
        fn no_allocation_beats_finishing_together(
            jobs in prop::collection::vec(any_job(), 1..20), mbps in 0.01..1000.0_f64,
            split in prop::collection::vec(0.01..1.0_f64, 20),
        ) {
            let total: f64 = split.iter().take(jobs.len()).sum();
            let any_split = jobs.iter().zip(&split).fold(0.0_f64, |last, (job, part)| {
                last.max(job.compute_secs + job.load_mbit / (mbps * part / total))
            });
            prop_assert!(round_secs(&jobs, mbps) <= any_split * (1.0 + 1e-12));
        }
    }
}
