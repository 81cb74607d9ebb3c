//! The time at which the uploads of a cohort finish together.
//!
//! On a linear band the round time T̂(K) is the one root of Σ_{n∈K} t_n/(T − τ_n) = f_tot above max τ, and device n gets
//! f_n = t_n/(T̂ − τ_n). The same equation with q_n·t_n over the whole fleet is the paper's T(q) under the expected
//! bandwidth, so it is solved here for both. On a band of spectrum device n needs r_n⁻¹(t_n/(T − τ_n)) MHz instead,
//! which also falls with T. A device whose own limit is lower than that ends the round later: all are then paced to
//! max_K (τ_n + t_n/limit_n), and part of the band stays unused.

use crate::link::{Band, Link, spectrum_for};
use crate::units::{Mbps, Mhz};

/// A computation, followed by an upload over the shared bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// τ: the upload uses no bandwidth before this time.
    pub compute_secs: f64,
    /// The payload in Mbit: t_n (or q_n·t_n in expectation).
    pub load_mbit: f64,
    /// What limits the device's own link.
    pub link: Link,
}

impl Job {
    /// A job on a link without limits of its own.
    pub fn new(compute_secs: f64, load_mbit: f64) -> Self {
        Self { compute_secs, load_mbit, link: Link::default() }
    }
}

/// The common finish of jobs that share one bandwidth.
///
/// Kept as two parts, because T̂ − τ_n is what the shares divide by: with τ = 1000 s and an upload of a
/// microsecond, the difference of two rounded sums would have lost it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// max τ: the longest compute time of the cohort, in seconds.
    pub slowest_compute_secs: f64,
    /// T̂ − max τ: the seconds of the round after the last device has computed.
    pub tail_secs: f64,
}

impl Finish {
    /// T̂: the length of the round in seconds.
    pub fn round_secs(self) -> f64 {
        self.slowest_compute_secs + self.tail_secs
    }

    /// T̂ − τ: the time that is left for the upload.
    pub fn upload_secs(self, compute_secs: f64) -> f64 {
        self.tail_secs + (self.slowest_compute_secs - compute_secs)
    }

    /// The rate with which `job` finishes exactly at T̂; 0 for a job with nothing to send.
    pub fn share_mbps(self, job: Job) -> f64 {
        if job.load_mbit > 0.0 { job.load_mbit / self.upload_secs(job.compute_secs) } else { 0.0 }
    }
}

/// The earliest common finish of `jobs` on a bandwidth. Without jobs, T is 0.
pub fn finish_together<I>(jobs: I, band: impl Into<Band>) -> Finish
where
    I: Iterator<Item = Job> + Clone,
{
    let shared = match band.into() {
        Band::Linear(bandwidth) => share_rates(jobs.clone(), bandwidth),
        Band::Shannon(spectrum) => share_spectrum(jobs.clone(), spectrum),
    };
    let slowest = shared.slowest_compute_secs;
    let tail_secs = jobs.fold(shared.tail_secs, |tail, Job { compute_secs, load_mbit, link }| {
        tail.max(load_mbit / link.limit_mbps - (slowest - compute_secs))
    });
    Finish { tail_secs, ..shared }
}

/// Solves Σ load/(T − τ) = bandwidth for T > max τ.
///
/// Newton's method on 1/Σ(·) − 1/bandwidth, as a function of the tail T − max τ. That function is increasing
/// and concave (it is the parallel sum of straight lines), so from any point below the root Newton climbs
/// to it without ever passing it; for a single job, or for equal ones, it is a straight line and one step
/// is exact. Jobs with nothing to send only hold T up to their τ: if the others are done by then, the
/// tail is 0 and part of the bandwidth stays unused.
fn share_rates<I>(jobs: I, bandwidth: Mbps) -> Finish
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

/// Solves Σ r⁻¹(load/(T − τ)) = spectrum for T > max τ.
///
/// The spectrum for a rate is convex in the rate, and the rate is convex in T, so the sum is convex and falls with T.
/// From a point below the root, such as the time of any job with the whole band for itself, Newton's method climbs to the
/// root without ever passing it.
fn share_spectrum<I>(jobs: I, spectrum: Mhz) -> Finish
where
    I: Iterator<Item = Job> + Clone,
{
    let slowest = jobs.clone().fold(0.0_f64, |slowest, job| slowest.max(job.compute_secs));
    let senders = jobs.filter(|job| job.load_mbit > 0.0);
    // The limits of single links come later: here they would only hide the bandwidth's own root.
    let alone_secs = |job: Job| {
        let link = Link { limit_mbps: f64::INFINITY, ..job.link };
        job.load_mbit / Band::Shannon(spectrum).alone_mbps(link)
    };
    let mut tail =
        senders.clone().fold(0.0_f64, |tail, job| tail.max(alone_secs(job) - (slowest - job.compute_secs)));
    // Far below the root a step doubles the time; the bound only guards the loop.
    for _ in 0..200 {
        let (mut demand, mut slope) = (0.0, 0.0);
        for job in senders.clone() {
            let rate = job.load_mbit / (tail + (slowest - job.compute_secs));
            let (mhz, mhz_per_rate) = spectrum_for(rate, job.link.snr * spectrum.get());
            demand += mhz;
            slope += mhz_per_rate * rate * rate / job.load_mbit;
        }
        let step = (demand - spectrum.get()) / slope;
        // NaN where no job sends, and where rounding puts the first point just below what a single job needs.
        if step.is_nan() || step <= tail * 1e-15 {
            break;
        }
        tail += step;
    }
    Finish { slowest_compute_secs: slowest, tail_secs: tail }
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
        Job::new(compute_secs, load_mbit)
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

    fn plain_job() -> impl Strategy<Value = Job> {
        let log = |low: f64, high: f64| (low..high).prop_map(f64::exp);
        let zero_or = |log| prop_oneof![1 => Just(0.0), 9 => log];
        (zero_or(log(-9.0, 9.0).boxed()), log(-9.0, 9.0))
            .prop_map(|(compute_secs, load_mbit)| Job::new(compute_secs, load_mbit))
    }

    /// Half of the devices have a limit of their own; all have a signal of −20 to 40 dB.
    fn any_job() -> impl Strategy<Value = Job> {
        let limit = prop_oneof![Just(f64::INFINITY), (-3.0..6.0_f64).prop_map(f64::exp)];
        (plain_job(), limit, -4.6..9.2_f64)
            .prop_map(|(job, limit_mbps, signal)| Job { link: Link { limit_mbps, snr: signal.exp() }, ..job })
    }

    fn any_band() -> impl Strategy<Value = Band> {
        (prop::bool::ANY, 0.01..1000.0_f64).prop_map(|(linear, total)| match linear {
            true => band(total).into(),
            false => Band::Shannon(Mhz::new(total).unwrap()),
        })
    }

    proptest! {
        #[test]
        fn all_finish_together_and_shares_sum_to_the_bandwidth(
            jobs in prop::collection::vec(plain_job(), 1..40), mbps in 0.01..1000.0_f64,
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
            jobs in prop::collection::vec(plain_job(), 1..20), extra in plain_job(),
            mbps in 0.01..1000.0_f64, factor in 1.01..10.0_f64,
        ) {
            let base = round_secs(&jobs, mbps);
            prop_assert!(round_secs(&jobs, mbps * factor) < base);
            let joined: Vec<Job> = jobs.iter().copied().chain([extra]).collect();
            prop_assert!(round_secs(&joined, mbps) >= base * (1.0 - 1e-12));
        }

        #[test]
        fn no_allocation_beats_finishing_together(
            jobs in prop::collection::vec(plain_job(), 1..20), mbps in 0.01..1000.0_f64,
            split in prop::collection::vec(0.01..1.0_f64, 20),
        ) {
            let total: f64 = split.iter().take(jobs.len()).sum();
            let any_split = jobs.iter().zip(&split).fold(0.0_f64, |last, (job, part)| {
                last.max(job.compute_secs + job.load_mbit / (mbps * part / total))
            });
            prop_assert!(round_secs(&jobs, mbps) <= any_split * (1.0 + 1e-12));
        }

        /// Finishing together, caps and all: everybody ends at T̂, nobody exceeds a limit, and the bandwidth is used up or a
        /// device is at its limit.
        #[test]
        fn limited_links_finish_together_or_leave_band_unused(
            jobs in prop::collection::vec(any_job(), 1..20), band in any_band(),
        ) {
            let finish = finish_together(jobs.iter().copied(), band);
            let (mut used, mut at_limit) = (0.0, false);
            for &job in &jobs {
                let rate = finish.share_mbps(job);
                let end = job.compute_secs + job.load_mbit / rate;
                prop_assert!((end / finish.round_secs() - 1.0).abs() < 1e-9);
                prop_assert!(rate <= job.link.limit_mbps * (1.0 + 1e-9));
                at_limit |= rate >= job.link.limit_mbps * (1.0 - 1e-9);
                used += band.part_for(rate.min(job.link.limit_mbps), job.link);
            }
            prop_assert!(used <= band.total() * (1.0 + 1e-7), "{used} of {}", band.total());
            prop_assert!(at_limit || used >= band.total() * (1.0 - 1e-7), "{used} of {}", band.total());
        }

        #[test]
        fn better_links_are_faster_and_more_devices_are_slower(
            jobs in prop::collection::vec(any_job(), 1..20), extra in any_job(), band in any_band(),
            factor in 1.01..10.0_f64,
        ) {
            let secs = |jobs: &[Job], band: Band| finish_together(jobs.iter().copied(), band).round_secs();
            let base = secs(&jobs, band);
            let with = |change: &dyn Fn(&mut Link)| {
                let better = jobs.iter().map(|job| {
                    let mut better = *job;
                    change(&mut better.link);
                    better
                });
                secs(&better.collect::<Vec<Job>>(), band)
            };
            let slack = 1.0 + 1e-11;
            prop_assert!(with(&|link| link.limit_mbps *= factor) <= base * slack, "limits");
            prop_assert!(with(&|link| link.snr *= factor) <= base * slack, "signal");
            let wider = match band {
                Band::Linear(bandwidth) => Band::Linear(Mbps::new(bandwidth.get() * factor).unwrap()),
                // A wider band of spectrum spreads the same power over more noise.
                Band::Shannon(spectrum) => Band::Shannon(Mhz::new(spectrum.get() * factor).unwrap()),
            };
            let spread = match band {
                Band::Linear(_) => secs(&jobs, wider),
                Band::Shannon(_) => {
                    let jobs: Vec<Job> = jobs.iter().map(|job| Job {
                        link: Link { snr: job.link.snr / factor, ..job.link }, ..*job
                    }).collect();
                    secs(&jobs, wider)
                }
            };
            prop_assert!(spread <= base * slack, "bandwidth");
            let joined: Vec<Job> = jobs.iter().copied().chain([extra]).collect();
            prop_assert!(secs(&joined, band) >= base / slack, "cohort");
        }

        /// Theorem 2's first bound with whole-band rates: it holds with limits and on a band of spectrum.
        #[test]
        fn no_round_is_longer_than_computing_first_and_sending_one_by_one(
            jobs in prop::collection::vec(any_job(), 1..20), band in any_band(),
        ) {
            let alone = |job: &Job| job.load_mbit / band.alone_mbps(job.link);
            let slowest = jobs.iter().fold(0.0_f64, |slowest, job| slowest.max(job.compute_secs));
            let bound = slowest + jobs.iter().map(alone).sum::<f64>();
            prop_assert!(finish_together(jobs.iter().copied(), band).round_secs() <= bound * (1.0 + 1e-11));
            let one = finish_together(jobs[..1].iter().copied(), band).round_secs();
            prop_assert!((one / (jobs[0].compute_secs + alone(&jobs[0])) - 1.0).abs() < 1e-11);
        }
    }
}
