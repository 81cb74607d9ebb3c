//! Dividing the bandwidth when a round has a deadline, so that a straggler does not cost other devices their updates.
//!
//! While all devices can finish together in time, the deadline changes nothing. Otherwise device n *needs* the rate
//! t_n/(D′ − τ_n), where D′ is the deadline minus a margin for compute times that vary. Devices are admitted by
//! ascending need while the bandwidth suffices. The admitted devices finish together, as early as possible, and the
//! others upload afterwards. The admission of a device therefore depends only on devices that need less bandwidth: no
//! device is lost because of a slower one.

use crate::bandwidth::{Allocation, DeviceJob, Division, Job, Share, divide};
use crate::link::Band;

/// The time at which a round ends for devices that have not reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadline {
    /// D, counted from the moment when the bandwidth is divided.
    pub secs: f64,
    /// The share of D that is kept free because compute times vary; 0 if compute times are exact.
    pub margin: f64,
}

impl Deadline {
    /// D′: the time by which admitted devices finish if their compute times are as expected.
    pub fn planned_secs(self) -> f64 {
        self.secs * (1.0 - self.margin)
    }
}

/// Divides the bandwidth among a cohort, so that every device that can meet the deadline does.
pub fn divide_by(
    device_jobs: &[DeviceJob],
    band: impl Into<Band>,
    division: Division,
    deadline: Option<Deadline>,
) -> Allocation {
    let band = band.into();
    let together = divide(device_jobs.iter().copied(), band, division);
    match deadline {
        Some(deadline) if together.round_secs > deadline.planned_secs() => {
            in_turns(device_jobs, band, division, deadline)
        }
        _ => together,
    }
}

/// Lets groups upload in turns: first the devices that meet D′, then the devices that meet D with the time that is left.
/// Groups follow the order of need, so that no device waits for a device that needs more, or shares bandwidth with it.
fn in_turns(device_jobs: &[DeviceJob], band: Band, division: Division, deadline: Deadline) -> Allocation {
    let mut turns =
        Turns { device_jobs, shares: vec![None; device_jobs.len()], start_secs: 0.0, round_secs: 0.0 };
    let mut waiting = in_order_of_need(device_jobs, band, deadline);
    let mut hopeless = Vec::new();
    let mut limit_secs = deadline.planned_secs();
    while !waiting.is_empty() {
        let needs = |place: usize| need(device_jobs[place].job, band, turns.start_secs, limit_secs);
        let admitted = admitted(waiting.iter().map(|&place| needs(place)), band, division);
        turns.upload(&waiting[..admitted], band, division);
        waiting.drain(..admitted);
        limit_secs = deadline.secs;
        let start_secs = turns.start_secs;
        // These devices would be late even with the whole bandwidth: no other device must wait for them.
        let (late, next) = waiting
            .into_iter()
            .partition(|&place| need(device_jobs[place].job, band, start_secs, limit_secs) > band.total());
        hopeless.extend::<Vec<usize>>(late);
        waiting = next;
    }
    // With equal shares, a device that computes faster than expected may still be in time, however slow another is.
    turns.upload(&hopeless, band, Division::Equal);
    Allocation { round_secs: turns.round_secs, shares: turns.shares.into_iter().flatten().collect() }
}

/// Places of the cohort, the least need first. Devices that cannot meet D′ at all are ordered by the rate with which they
/// would meet D.
fn in_order_of_need(device_jobs: &[DeviceJob], band: Band, deadline: Deadline) -> Vec<usize> {
    let key = |place: usize| {
        let job = device_jobs[place].job;
        [need(job, band, 0.0, deadline.planned_secs()), need(job, band, 0.0, deadline.secs), job.compute_secs]
    };
    let mut places: Vec<usize> = (0..device_jobs.len()).collect();
    places.sort_by(|&a, &b| {
        let (a, b) = (key(a), key(b));
        a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2]))
    });
    places
}

/// The part of the bandwidth with which `job` finishes by `limit_secs` if it uploads after `start_secs`; infinite if nothing
/// suffices.
fn need(job: Job, band: Band, start_secs: f64, limit_secs: f64) -> f64 {
    let upload_secs = limit_secs - job.compute_secs.max(start_secs);
    if job.load_mbit <= 0.0 {
        return if upload_secs >= 0.0 { 0.0 } else { f64::INFINITY };
    }
    if upload_secs > 0.0 { band.part_for(job.load_mbit / upload_secs, job.link) } else { f64::INFINITY }
}

/// The number of devices, in the order of their needs, whose needs fit into the bandwidth together.
fn admitted(needs: impl Iterator<Item = f64>, band: Band, division: Division) -> usize {
    let (mut total, mut largest) = (0.0_f64, 0.0_f64);
    let fits = |(count, need): &(usize, f64)| {
        (total, largest) = (total + need, largest.max(*need));
        match division {
            Division::Adaptive => total <= band.total(),
            Division::Equal => largest * (*count + 1) as f64 <= band.total(),
        }
    };
    needs.enumerate().take_while(fits).count()
}

/// The uploads of one group after the other.
struct Turns<'a> {
    device_jobs: &'a [DeviceJob],
    /// By place in the cohort.
    shares: Vec<Option<Share>>,
    /// The time at which the next group may begin.
    start_secs: f64,
    /// The time at which the last group so far finishes.
    round_secs: f64,
}

impl Turns<'_> {
    /// Gives the whole bandwidth to a group, from the end of the group before.
    fn upload(&mut self, group: &[usize], band: Band, division: Division) {
        if group.is_empty() {
            return;
        }
        let start_secs = self.start_secs;
        let later = |&place: &usize| {
            let DeviceJob { device, job } = self.device_jobs[place];
            let compute_secs = (job.compute_secs - start_secs).max(0.0);
            DeviceJob { device, job: Job { compute_secs, ..job } }
        };
        let Allocation { round_secs, shares } = divide(group.iter().map(later), band, division);
        for (&place, share) in group.iter().zip(shares) {
            let compute_secs = self.device_jobs[place].job.compute_secs;
            self.shares[place] = Some(Share { compute_secs, upload_from_secs: start_secs, ..share });
        }
        self.start_secs += round_secs;
        self.round_secs = self.round_secs.max(self.start_secs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, StreamKey};
    use crate::units::Mbps;
    use proptest::prelude::*;
    use rand_distr::{Distribution, LogNormal};

    const MARGIN: f64 = 0.1;

    fn band(mbps: f64) -> Mbps {
        Mbps::new(mbps).unwrap()
    }

    fn cohort(jobs: &[(f64, f64)]) -> Vec<DeviceJob> {
        let job = |(device, &(compute_secs, load_mbit))| DeviceJob {
            device,
            job: Job::new(compute_secs, load_mbit),
        };
        jobs.iter().enumerate().map(job).collect()
    }

    /// Who has not finished by D, when device n computes `stretch(n)` times as long as planned.
    fn lost(allocation: &Allocation, secs: f64, stretch: impl Fn(usize) -> f64) -> Vec<usize> {
        let late = |share: &&Share| {
            share.finish_secs(share.compute_secs * stretch(share.device)) > secs * (1.0 + 1e-12)
        };
        allocation.shares.iter().filter(late).map(|share| share.device).collect()
    }

    #[test]
    fn a_device_slower_than_the_deadline_costs_nobody_else_its_update() {
        // The figures of the trial: three quick devices, and one that computes for three deadlines.
        let device_jobs = cohort(&[(0.05, 1.0), (0.05, 1.0), (0.05, 1.0), (12.0, 1.0)]);
        for division in [Division::Adaptive, Division::Equal] {
            let together = divide(device_jobs.iter().copied(), band(1.0), division);
            assert!(lost(&together, 3.9, |_| 1.0).len() == 4, "finishing together, all four are late");
            let deadline = Deadline { secs: 4.0, margin: MARGIN };
            let after = divide_by(&device_jobs, band(1.0), division, Some(deadline));
            assert_eq!(lost(&after, 4.0, |_| 1.0), [3], "{division:?} {after:?}");
            let quick = divide(device_jobs[..3].iter().copied(), band(1.0), division);
            assert_eq!(after.shares[..3], quick.shares[..], "as if the slow one were not there");
        }
    }

    #[test]
    fn without_a_deadline_that_binds_nothing_changes() {
        let device_jobs = cohort(&[(1.0, 5.0), (2.0, 1.0), (0.0, 9.0)]);
        let together = divide(device_jobs.iter().copied(), band(3.0), Division::Adaptive);
        let deadline = |secs: f64| Some(Deadline { secs, margin: 0.0 });
        for deadline in [None, deadline(together.round_secs), deadline(1e6)] {
            assert_eq!(divide_by(&device_jobs, band(3.0), Division::Adaptive, deadline), together);
        }
    }

    #[test]
    fn what_is_left_after_the_admitted_goes_to_the_others() {
        // The third one misses D′ = 9 and makes D = 10 with the bandwidth that the others have left.
        let device_jobs = cohort(&[(0.0, 4.0), (0.0, 4.0), (9.5, 0.4)]);
        let deadline = Deadline { secs: 10.0, margin: MARGIN };
        let shares = divide_by(&device_jobs, band(1.0), Division::Adaptive, Some(deadline)).shares;
        assert_eq!((shares[2].upload_from_secs, shares[2].mbps), (8.0, 1.0));
        assert!((shares[2].finish_secs(9.5) - 9.9).abs() < 1e-12);
        assert_eq!(divide_by(&[], band(1.0), Division::Adaptive, Some(deadline)).round_secs, 0.0);
    }

    fn any_cohort() -> impl Strategy<Value = Vec<DeviceJob>> {
        let log = |low: f64, high: f64| (low..high).prop_map(f64::exp);
        let compute = prop_oneof![1 => Just(0.0), 6 => log(-3.0, 3.0), 1 => Just(86_400.0)];
        let load = prop_oneof![1 => Just(0.0), 9 => log(-3.0, 3.0)];
        prop::collection::vec((compute, load), 1..12).prop_map(|jobs| cohort(&jobs))
    }

    fn any_division() -> impl Strategy<Value = Division> {
        prop_oneof![Just(Division::Adaptive), Just(Division::Equal)]
    }

    proptest! {
        /// Who is lost does not change when everybody who needs more is left out.
        #[test]
        fn nobody_is_lost_because_of_a_larger_need(
            device_jobs in any_cohort(), mbps in 0.1..50.0_f64, secs in 0.1..30.0_f64,
            margin in prop_oneof![Just(0.0), Just(MARGIN)], division in any_division(),
        ) {
            let deadline = Deadline { secs, margin };
            let lost_with = |device_jobs: &[DeviceJob]| {
                lost(&divide_by(device_jobs, band(mbps), division, Some(deadline)), secs, |_| 1.0)
            };
            let all = lost_with(&device_jobs);
            let order = in_order_of_need(&device_jobs, band(mbps).into(), deadline);
            for kept in 1..order.len() {
                let quicker: Vec<DeviceJob> =
                    device_jobs.iter().copied().filter(|device_job| order[..kept].contains(&device_job.device)).collect();
                let fewer = lost_with(&quicker);
                for device in &order[..kept] {
                    prop_assert!(!all.contains(device) || fewer.contains(device), "{} of {:?}", device, device_jobs);
                }
            }
        }

        /// Compute times vary by 0.3, and nobody knows how: a device that cannot make the deadline by what is known of
        /// it costs no other device its update. Whoever is lost beside it is lost without it, too. (Under equal shares a
        /// device may even be saved by it: it is then in a later group, and not in one that is just too slow.)
        #[test]
        fn with_jitter_nobody_is_lost_because_of_a_device_that_cannot_make_it(
            device_jobs in any_cohort(), mbps in 0.1..50.0_f64, secs in 0.1..30.0_f64,
            division in any_division(), seed in any::<u64>(),
        ) {
            let sigma = (1.0 + 0.3_f64.powi(2)).ln().sqrt();
            let jitter = LogNormal::new(-sigma * sigma / 2.0, sigma).unwrap();
            let stretch = |device: usize| {
                let key = StreamKey { seed, purpose: Purpose::ComputeJitter, round: 1 };
                jitter.sample(&mut key.device(device as u64))
            };
            let deadline = Deadline { secs, margin: MARGIN };
            let divided = |device_jobs: &[DeviceJob]| divide_by(device_jobs, band(mbps), division, Some(deadline));
            let all = divided(&device_jobs);
            let can_make_it = |share: &&Share| share.finish_secs(share.compute_secs) <= secs;
            let able: Vec<usize> = all.shares.iter().filter(can_make_it).map(|share| share.device).collect();
            let without: Vec<DeviceJob> =
                device_jobs.iter().copied().filter(|device_job| able.contains(&device_job.device)).collect();
            let of_able = |lost: Vec<usize>| -> Vec<usize> {
                lost.into_iter().filter(|device| able.contains(device)).collect()
            };
            let without = of_able(lost(&divided(&without), secs, stretch));
            for device in of_able(lost(&all, secs, stretch)) {
                prop_assert!(without.contains(&device), "{} of {:?}", device, device_jobs);
            }
        }

        /// Whoever is admitted first has the whole margin for a delay of its own.
        #[test]
        fn the_admitted_finish_by_the_deadline_less_its_margin(
            device_jobs in any_cohort(), mbps in 0.1..50.0_f64, secs in 0.1..30.0_f64, division in any_division(),
        ) {
            let deadline = Deadline { secs, margin: MARGIN };
            let allocation = divide_by(&device_jobs, band(mbps), division, Some(deadline));
            let needs = |device_job: &DeviceJob| need(device_job.job, band(mbps).into(), 0.0, deadline.planned_secs());
            let least = device_jobs.iter().map(needs).fold(f64::INFINITY, f64::min);
            for (share, device_job) in allocation.shares.iter().zip(&device_jobs) {
                if share.upload_from_secs <= 0.0 && needs(device_job) <= mbps && least <= mbps {
                    let finish_secs = share.finish_secs(share.compute_secs);
                    prop_assert!(finish_secs <= deadline.planned_secs() * (1.0 + 1e-9), "{:?}", device_jobs);
                }
            }
        }

        /// At no moment is more sent than the bandwidth carries, and everybody has a share.
        #[test]
        fn groups_take_turns_within_the_bandwidth(
            device_jobs in any_cohort(), mbps in 0.1..50.0_f64, secs in 0.1..30.0_f64, division in any_division(),
        ) {
            let deadline = Deadline { secs, margin: MARGIN };
            let shares = divide_by(&device_jobs, band(mbps), division, Some(deadline)).shares;
            prop_assert_eq!(shares.iter().map(|share| share.device).collect::<Vec<_>>(), (0..device_jobs.len()).collect::<Vec<_>>());
            for now in shares.iter().map(Share::upload_begin_secs) {
                let sends = |share: &&Share| {
                    share.upload_begin_secs() <= now && now < share.finish_secs(share.compute_secs) * (1.0 - 1e-9)
                };
                let sent: f64 = shares.iter().filter(sends).map(|share| share.mbps).sum();
                prop_assert!(sent <= mbps * (1.0 + 1e-9), "{} of {} at {}: {:?}", sent, mbps, now, shares);
            }
        }
    }
}
