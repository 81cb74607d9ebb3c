//! `sampled`: E[T̂(q)] itself, estimated over common random numbers.
//!
//! Draw s holds one number u_{s,n} per device; with probabilities q its cohort is {n: u_{s,n} < q_n}. The
//! same numbers serve every q, so two plans differ by what they do and not by luck. T̂'s mean is linear in
//! each q_n, with slope E[T̂(K∪{n}) − T̂(K∖{n})].

use fedflip_fleet::bandwidth::{Job, finish_together};
use fedflip_fleet::{Mbps, Purpose, StreamKey};
use rand::RngExt;

use super::descent::{Descent, Effort, RoundTime, best_descent, starts, value};
use super::{exact, tight};
use crate::error::PlanError;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::scheme::Scheme;

/// One gradient re-solves a round per device and draw: beyond this it would take minutes.
pub const DEVICES_MAX: usize = 5_000;
/// Draws while descending, for 100 devices: a gradient takes a few milliseconds.
const DRAWS_DESCENDING: usize = 400;
/// Draws for choosing among the ends of the descents, and `exact` and `tight`.
const DRAWS_CHOOSING: usize = 4_000;

/// The best of several descents; never worse than `exact` or `tight` under its own objective.
pub fn plan(problem: &Problem<'_>, seed: u64) -> Result<Plan, PlanError> {
    let devices = problem.fleet().len();
    if devices > DEVICES_MAX {
        return Err(PlanError::FleetTooLarge {
            scheme: "sampled",
            devices,
            devices_max: DEVICES_MAX,
            hint: "use --scheme tight, whose cost per step grows as N log N, or --scheme exact",
        });
    }
    let fewer = |draws: usize| (draws * 100 / devices.max(100)).max(16);
    let tight = tight::plan(problem);
    let mut from = starts(problem);
    from.push(tight.q().to_vec());
    // The estimate is a step function of q: steps too small to flip a coin change nothing.
    let effort = Effort { steps_max: 30, improvement_min: 1e-5 };
    let mut descending = CommonNumbers::new(problem, seed, 0, fewer(DRAWS_DESCENDING));
    let found = best_descent(problem, &mut descending, from, 3, effort);

    // A descent fits the numbers it has seen; fresh ones judge it against what needs no fitting.
    let mut choosing = CommonNumbers::new(problem, seed, DRAWS_DESCENDING as u64, fewer(DRAWS_CHOOSING));
    let mut judge = |q: Vec<f64>, settled| {
        let mut gradient = vec![0.0; devices];
        let objective = value(problem, &q, choosing.secs(&q));
        let round_secs = descending.gradient(&q, &mut gradient);
        let kkt_residual = super::kkt::ratio_residual(problem, &q, round_secs, &gradient);
        Descent { q, objective, kkt_residual, settled }
    };
    let mut best = judge(exact::participation(problem), true);
    let others = [Some((tight.q().to_vec(), true)), found.map(|found| (found.q, found.settled))];
    for (q, settled) in others.into_iter().flatten() {
        let other = judge(q, settled);
        if other.objective < best.objective {
            best = other;
        }
    }
    Ok(best.into_plan(problem, Scheme::Sampled))
}

/// E[T̂] as a mean over fixed draws.
struct CommonNumbers {
    jobs: Vec<Job>,
    band: Mbps,
    /// One row per draw, one number per device.
    numbers: Vec<f64>,
    /// The jobs of the current cohort; a scratch buffer.
    cohort: Vec<Job>,
}

impl CommonNumbers {
    fn new(problem: &Problem<'_>, seed: u64, first_draw: u64, draws: usize) -> Self {
        let fleet = problem.fleet();
        let times = fleet.compute_secs().iter().zip(fleet.comm_secs());
        let jobs: Vec<Job> =
            times.map(|(&compute_secs, &load_mbit)| Job { compute_secs, load_mbit }).collect();
        let mut numbers = Vec::with_capacity(draws * jobs.len());
        for draw in 0..draws as u64 {
            let key = StreamKey { seed, purpose: Purpose::CommonNumbers, round: first_draw + draw };
            let mut stream = key.shared();
            numbers.extend((0..jobs.len()).map(|_| stream.random::<f64>()));
        }
        Self { cohort: Vec::with_capacity(jobs.len()), jobs, band: problem.band(), numbers }
    }

    fn draws(&self) -> f64 {
        (self.numbers.len() / self.jobs.len()) as f64
    }
}

impl RoundTime for CommonNumbers {
    fn secs(&mut self, q: &[f64]) -> f64 {
        let mut total = 0.0;
        for numbers in self.numbers.chunks_exact(self.jobs.len()) {
            flip(&self.jobs, numbers, q, &mut self.cohort);
            total += finish_together(self.cohort.iter().copied(), self.band).round_secs();
        }
        total / self.draws()
    }

    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let draws = self.draws();
        gradient.fill(0.0);
        let mut total = 0.0;
        for numbers in self.numbers.chunks_exact(self.jobs.len()) {
            flip(&self.jobs, numbers, q, &mut self.cohort);
            let cohort = self.cohort.iter().copied();
            let round_secs = finish_together(cohort.clone(), self.band).round_secs();
            total += round_secs;
            let mut place = 0;
            for (n, slope) in gradient.iter_mut().enumerate() {
                let difference_secs = if numbers[n] < q[n] {
                    let others = cohort.clone().take(place).chain(cohort.clone().skip(place + 1));
                    place += 1;
                    round_secs - finish_together(others, self.band).round_secs()
                } else {
                    finish_together(cohort.clone().chain([self.jobs[n]]), self.band).round_secs() - round_secs
                };
                *slope += difference_secs.max(0.0) / draws;
            }
        }
        total / draws
    }
}

/// Replaces `cohort` with the jobs of those whose number is below their q.
fn flip(jobs: &[Job], numbers: &[f64], q: &[f64], cohort: &mut Vec<Job>) {
    cohort.clear();
    let coins = numbers.iter().zip(q).zip(jobs);
    cohort.extend(coins.filter(|((number, q), _)| number < q).map(|(_, job)| *job));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Over the same numbers, the slope is the difference between surely in and surely out.
        #[test]
        fn gradient_is_the_difference_of_in_and_out(
            devices in prop::collection::vec((0.0..10.0_f64, 0.0..10.0_f64, 0.0..=1.0_f64), 1..8),
            numbers in prop::collection::vec(0.0..1.0_f64, 80),
        ) {
            let jobs: Vec<Job> =
                devices.iter().map(|d| Job { compute_secs: d.0, load_mbit: d.1 }).collect();
            let q: Vec<f64> = devices.iter().map(|device| device.2).collect();
            let numbers = numbers[..10 * jobs.len()].to_vec();
            let band = Mbps::new(3.0).unwrap();
            let mut mean = CommonNumbers { jobs, band, numbers, cohort: Vec::new() };
            let mut gradient = vec![0.0; q.len()];
            let value = mean.gradient(&q, &mut gradient);
            prop_assert!((value - mean.secs(&q)).abs() < 1e-12);
            for n in 0..q.len() {
                let mut at = |certain: f64| {
                    let mut moved = q.clone();
                    moved[n] = certain;
                    mean.secs(&moved)
                };
                let difference = at(1.0) - at(0.0);
                prop_assert!((gradient[n] - difference).abs() < 1e-10, "{} {difference}", gradient[n]);
            }
        }
    }
}
