//! `sampled`: E[T̂(q)] itself in place of Σ q c.
//!
//! Up to twelve devices every cohort is enumerated, and nothing is random. Beyond that the mean is taken
//! over common random numbers: draw s holds one number u_{s,n} per device, and with probabilities q its
//! cohort is {n: u_{s,n} < q_n}. The same numbers serve every q, so two plans differ by what they do and
//! not by luck; and only the gap to Theorem 2's first bound, which is known exactly, is drawn.

use fedflip_fleet::bandwidth::Job;
use fedflip_fleet::{Purpose, StreamKey};
use rand::RngExt;

use super::descent::{Descent, Effort, RoundTime, best_descent, starts, value};
use super::{exact, tight};
use crate::error::PlanError;
use crate::plan::Plan;
use crate::problem::{Problem, RoundModel};
use crate::round_time::FirstBound;
use crate::scheme::Scheme;

/// One gradient re-solves a round per device and draw: beyond this it would take minutes.
const DEVICES_MAX: usize = 5_000;
/// With 12 devices there are 4,096 cohorts, few enough to add up exactly.
const ENUMERATED_DEVICES_MAX: usize = 12;
/// Participants visited per gradient: some ten milliseconds.
const VISITS_DESCENDING: f64 = 1e6;
/// Participants visited when candidates are judged.
const VISITS_JUDGING: f64 = 2e6;

/// The best of several descents; never worse than `exact` or `tight` under its own objective.
pub(crate) fn plan(model: &RoundModel<'_, '_>, seed: u64) -> Result<Plan, PlanError> {
    let problem = model.problem();
    let devices = problem.fleet().len();
    if devices > DEVICES_MAX {
        let scheme = Scheme::Sampled;
        return Err(PlanError::FleetTooLarge { scheme, devices, devices_max: DEVICES_MAX });
    }
    if devices > ENUMERATED_DEVICES_MAX {
        return Ok(plan_by_draws(model, seed));
    }
    let mut from = starts(model, usize::MAX);
    from.push(tight::plan(model).q().to_vec());
    let effort = Effort { steps_max: 300, improvement_min: 1e-12 };
    let found = best_descent(model, &mut Enumerated::new(problem), from, usize::MAX, effort);
    Ok(found.map_or_else(|| exact::plan(model), |best| best.into_plan(model)))
}

/// The plan for larger fleets: the mean over common random numbers, for any number of devices.
pub fn plan_by_draws(model: &RoundModel<'_, '_>, seed: u64) -> Plan {
    let problem = model.problem();
    let devices = problem.fleet().len();
    let tight = tight::plan(model);
    let mut from = starts(model, usize::MAX);
    from.push(tight.q().to_vec());
    let participants: f64 = tight.q().iter().sum();
    let draws = (VISITS_DESCENDING / (devices as f64 * (1.0 + participants))).clamp(32.0, 2_000.0) as u64;
    let mut descending = CommonNumbers::new(problem, seed, 0..draws);
    let effort = Effort { steps_max: 30, improvement_min: 1e-6 };
    let found = best_descent(model, &mut descending, from, 3, effort);

    // A descent fits the numbers it has seen. On fresh ones it has to beat what needs no fitting, and by
    // more than chance.
    let judging = (VISITS_JUDGING / (devices as f64 + participants)).clamp(256.0, 20_000.0) as u64;
    let mut judge = CommonNumbers::new(problem, seed, draws..draws + judging);
    let mut best = exact::participation(problem, model.beta());
    for candidate in [Some(tight.q().to_vec()), found.map(|found| found.q)].into_iter().flatten() {
        if judge.surely_better(model, &candidate, &best) {
            best = candidate;
        }
    }
    let mut gradient = vec![0.0; devices];
    let round_secs = descending.gradient(&best, &mut gradient);
    let kkt_residual = super::kkt::ratio_residual(model, &best, round_secs, &gradient);
    let objective = value(model, &best, round_secs);
    Descent { q: best, objective, kkt_residual }.into_plan(model)
}

fn jobs(problem: &Problem<'_>) -> Vec<Job> {
    (0..problem.fleet().len()).map(|device| problem.job(device)).collect()
}

/// The mean round time over all cohorts of a small fleet.
struct Enumerated {
    devices: usize,
    /// The round time of each cohort, by the bits of its devices.
    round_secs: Vec<f64>,
    folded: Vec<f64>,
}

impl Enumerated {
    fn new(problem: &Problem<'_>) -> Self {
        let jobs = jobs(problem);
        let cohort = |members: usize| {
            let taking_part = jobs.iter().enumerate().filter(move |(n, _)| members >> n & 1 == 1);
            taking_part.map(|(_, job)| *job)
        };
        let round_secs: Vec<f64> = (0..1_usize << jobs.len())
            .map(|members| problem.cohort_secs(cohort(members)) + problem.overhead_secs())
            .collect();
        Self { devices: jobs.len(), folded: round_secs.clone(), round_secs }
    }

    /// The mean over all coins but that of `kept`, if any: without it, and with it.
    fn fold(&mut self, q: &[f64], kept: Option<usize>) -> (f64, f64) {
        self.folded.copy_from_slice(&self.round_secs);
        let mut cohorts = self.folded.len();
        let kept_bit = kept.map_or(0, |n| 1 << n);
        // From the highest bit down: cohorts with and without device n become one, its coin being averaged.
        for n in (0..self.devices).rev() {
            let bit = 1 << n;
            if bit == kept_bit {
                continue;
            }
            for members in (0..cohorts).filter(|members| members & bit == 0) {
                self.folded[members] += q[n] * (self.folded[members | bit] - self.folded[members]);
            }
            if bit > kept_bit {
                cohorts = bit;
            }
        }
        (self.folded[0], self.folded[kept_bit])
    }
}

impl RoundTime for Enumerated {
    fn secs(&mut self, q: &[f64]) -> f64 {
        self.fold(q, None).0
    }

    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        for (n, slope) in gradient.iter_mut().enumerate() {
            let (without_secs, with_secs) = self.fold(q, Some(n));
            *slope = (with_secs - without_secs).max(0.0);
        }
        self.secs(q)
    }
}

/// Theorem 2's first bound, less the mean gap over fixed draws.
struct CommonNumbers<'p, 'a> {
    bound: FirstBound<'p, 'a>,
    gaps: Gaps<'p, 'a>,
}

/// The gaps of fixed draws.
struct Gaps<'p, 'a> {
    problem: &'p Problem<'a>,
    jobs: Vec<Job>,
    /// One row per draw, one number per device.
    numbers: Vec<f64>,
    /// The jobs of the current cohort; a scratch buffer.
    cohort: Vec<Job>,
}

impl<'p, 'a> CommonNumbers<'p, 'a> {
    fn new(problem: &'p Problem<'a>, seed: u64, draws: std::ops::Range<u64>) -> Self {
        let jobs = jobs(problem);
        let mut numbers = Vec::new();
        for round in draws {
            let mut stream = StreamKey { seed, purpose: Purpose::CommonNumbers, round }.shared();
            numbers.extend((0..jobs.len()).map(|_| stream.random::<f64>()));
        }
        let gaps = Gaps { problem, cohort: Vec::with_capacity(jobs.len()), jobs, numbers };
        Self { bound: FirstBound::new(problem), gaps }
    }

    /// Whether `challenger` is better than `holder` by more than two standard errors of the difference.
    fn surely_better(&mut self, model: &RoundModel<'_, '_>, challenger: &[f64], holder: &[f64]) -> bool {
        let (Some(ours), Some(theirs)) = (model.rounds(challenger), model.rounds(holder)) else {
            return false;
        };
        let sure = ours * self.bound.secs(challenger) - theirs * self.bound.secs(holder);
        let mut ours_gaps = Vec::new();
        self.gaps.each(challenger, |gap_secs| ours_gaps.push(gap_secs));
        let (mut sum, mut squares, mut place) = (0.0, 0.0, 0);
        self.gaps.each(holder, |gap_secs| {
            let difference = theirs * gap_secs - ours * ours_gaps[place];
            (sum, squares, place) = (sum + difference, squares + difference * difference, place + 1);
        });
        let draws = place as f64;
        let mean = sum / draws;
        let std_error = ((squares / draws - mean * mean).max(0.0) / (draws - 1.0)).sqrt();
        sure + mean + 2.0 * std_error < 0.0
    }
}

impl Gaps<'_, '_> {
    /// Hands the gap of each draw's cohort under `q` to `take`.
    fn each(&mut self, q: &[f64], mut take: impl FnMut(f64)) {
        for numbers in self.numbers.chunks_exact(self.jobs.len()) {
            flip(&self.jobs, numbers, q, &mut self.cohort);
            take(self.problem.gap_secs(self.cohort.iter().copied()));
        }
    }

    fn mean(&mut self, q: &[f64]) -> f64 {
        let (mut sum, mut draws) = (0.0, 0_u32);
        self.each(q, |gap_secs| (sum, draws) = (sum + gap_secs, draws + 1));
        sum / f64::from(draws)
    }

    /// Subtracts the slope of the mean gap, E[gap(K∪{n}) − gap(K∖{n})], from `gradient`; returns the mean.
    fn subtract_gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let draws = (self.numbers.len() / self.jobs.len()) as f64;
        let mut sum = 0.0;
        for numbers in self.numbers.chunks_exact(self.jobs.len()) {
            flip(&self.jobs, numbers, q, &mut self.cohort);
            let cohort = self.cohort.iter().copied();
            let gap = self.problem.gap_secs(cohort.clone());
            sum += gap;
            let mut place = 0;
            for (n, slope) in gradient.iter_mut().enumerate() {
                let difference_secs = if numbers[n] < q[n] {
                    let others = cohort.clone().take(place).chain(cohort.clone().skip(place + 1));
                    place += 1;
                    gap - self.problem.gap_secs(others)
                } else if self.cohort.is_empty() {
                    0.0
                } else {
                    self.problem.gap_secs(cohort.clone().chain([self.jobs[n]])) - gap
                };
                *slope -= difference_secs / draws;
            }
        }
        sum / draws
    }
}

impl RoundTime for CommonNumbers<'_, '_> {
    fn secs(&mut self, q: &[f64]) -> f64 {
        self.bound.secs(q) - self.gaps.mean(q)
    }

    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let bound_secs = self.bound.gradient(q, gradient);
        let gap_secs = self.gaps.subtract_gradient(q, gradient);
        // The exact slope is never negative; an estimate over few draws may be.
        gradient.iter_mut().for_each(|slope| *slope = slope.max(0.0));
        bound_secs - gap_secs
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
    use fedflip_fleet::{Columns, Fleet, Mbps};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Over the same numbers, the slope is the difference between surely in and surely out.
        #[test]
        fn the_gaps_gradient_is_the_difference_of_in_and_out(
            devices in prop::collection::vec((0.0..10.0_f64, 0.0..10.0_f64, 0.0..=1.0_f64), 1..8),
            numbers in prop::collection::vec(0.0..1.0_f64, 80),
        ) {
            let column = |of: fn(&(f64, f64, f64)) -> f64| devices.iter().map(of).collect::<Vec<f64>>();
            let (tau, comm, q) = (column(|d| d.0), column(|d| d.1 + 1e-3), column(|d| d.2));
            let columns = Columns {
                compute_secs: &tau, comm_secs: &comm, samples: &vec![1.0; q.len()], ..Columns::default()
            };
            let fleet = Fleet::from_columns(columns).unwrap();
            let problem = Problem::new(&fleet, Mbps::new(3.0).unwrap());
            let jobs = jobs(&problem);
            let numbers = numbers[..10 * jobs.len()].to_vec();
            let mut gaps = Gaps { problem: &problem, jobs, numbers, cohort: Vec::new() };
            let mut gradient = vec![0.0; q.len()];
            let mean = gaps.subtract_gradient(&q, &mut gradient);
            prop_assert!((mean - gaps.mean(&q)).abs() < 1e-12);
            for n in 0..q.len() {
                let mut at = |certain: f64| {
                    let mut moved = q.clone();
                    moved[n] = certain;
                    gaps.mean(&moved)
                };
                let difference = at(1.0) - at(0.0);
                prop_assert!((gradient[n] + difference).abs() < 1e-10, "{} {difference}", gradient[n]);
            }
        }

        /// The same for the enumerated mean, where it is a derivative as well.
        #[test]
        fn the_enumerated_gradient_is_the_difference_of_in_and_out(
            round_secs in prop::collection::vec(0.0..10.0_f64, 16), q in prop::collection::vec(0.0..=1.0_f64, 4),
        ) {
            let mut mean = Enumerated { devices: 4, folded: round_secs.clone(), round_secs };
            let mut gradient = vec![0.0; 4];
            let value = mean.gradient(&q, &mut gradient);
            let by_hand: f64 = (0_usize..16)
                .map(|members| {
                    let chance = |n: usize| if members >> n & 1 == 1 { q[n] } else { 1.0 - q[n] };
                    mean.round_secs[members] * (0..4).map(chance).product::<f64>()
                })
                .sum();
            prop_assert!((value - by_hand).abs() < 1e-12);
            for n in 0..4 {
                let mut at = |certain: f64| {
                    let mut moved = q.clone();
                    moved[n] = certain;
                    mean.secs(&moved)
                };
                let difference: f64 = at(1.0) - at(0.0);
                prop_assert!((gradient[n] - difference.max(0.0)).abs() < 1e-12);
            }
        }
    }
}
