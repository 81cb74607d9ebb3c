//! Minimises round_secs(q)/(β − C(q)) for round times that make it non-convex.
//!
//! Each step replaces the round time by its tangent at q. What remains is the problem that `ratio` solves
//! exactly, and it has the same value and slope at q, so the way to its optimum leads downhill: a projected
//! gradient step whose length and scaling come from the problem itself. A backtracking search along that
//! way (straight in log q, where q stays positive and C(q) below β) makes every step an improvement of the
//! true objective. From one start this finds a local optimum; the callers try several.

use super::kkt;
use super::ratio::{Ratio, RatioSolver};
use crate::plan::{Plan, PlanStatus};
use crate::problem::RoundModel;

/// A model of the expected round time that is increasing and linear in each single q_n.
pub(crate) trait RoundTime {
    /// The value of the objective at q, in seconds.
    fn secs(&mut self, q: &[f64]) -> f64;

    /// Its value; its partial derivatives, none negative, replace `gradient`.
    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64;
}

/// Where a descent ended.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    pub q: Vec<f64>,
    /// Seconds per unit of α.
    pub objective: f64,
    pub kkt_residual: f64,
}

/// A q that meets the conditions to this relative precision is called a local optimum.
const LOCAL_OPTIMUM_RESIDUAL: f64 = 1e-2;

/// Bounds on the work of one descent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub steps_max: usize,
    /// A step that improves the objective by less than this share is the last one.
    pub improvement_min: f64,
}

impl Descent {
    pub(crate) fn into_plan(self, model: &RoundModel<'_, '_>) -> Plan {
        let converged = self.kkt_residual <= LOCAL_OPTIMUM_RESIDUAL;
        let status = if converged { PlanStatus::LocalOptimum } else { PlanStatus::Approximate };
        Plan::new(model.problem().fleet(), status, self.q).with_kkt_residual(self.kkt_residual)
    }
}

/// Goes downhill from `q`, which must be feasible.
pub(crate) fn descend(
    model: &RoundModel<'_, '_>,
    round_time: &mut impl RoundTime,
    mut q: Vec<f64>,
    effort: Effort,
) -> Descent {
    let fleet = model.problem().fleet();
    let mut solver = RatioSolver::default();
    let mut gradient = vec![0.0; q.len()];
    let mut target = vec![0.0; q.len()];
    let mut trial = vec![0.0; q.len()];
    let (mut settled, mut step, mut length) = (false, 0, 1.0);
    loop {
        let round_secs = round_time.gradient(&q, &mut gradient);
        let objective = value(model, &q, round_secs);
        if settled || step == effort.steps_max || objective == 0.0 {
            let kkt_residual = kkt::ratio_residual(model, &q, round_secs, &gradient);
            return Descent { q, objective, kkt_residual };
        }
        step += 1;

        let linear: f64 = gradient.iter().zip(&q).map(|(slope, q)| slope * q).sum();
        let tangent = Ratio {
            weights: fleet.weights(),
            caps: fleet.availability(),
            cost_secs: &gradient,
            offset_secs: (round_secs - linear).max(0.0),
            beta: model.beta(),
        };
        solver.solve(tangent, &mut target);

        // Start a little longer than what worked last time; halve until it helps.
        length = f64::min(1.0, 4.0 * length);
        let improved = loop {
            for ((trial, &q), (&target, &cap)) in
                trial.iter_mut().zip(&q).zip(target.iter().zip(fleet.availability()))
            {
                *trial = (q * (target / q).powf(length)).min(cap);
            }
            let improved = 1.0 - value(model, &trial, round_time.secs(&trial)) / objective;
            if improved > 0.0 || length < 1e-6 {
                break improved;
            }
            length *= 0.5;
        };
        if improved > 0.0 {
            std::mem::swap(&mut q, &mut trial);
        }
        settled = improved <= effort.improvement_min;
    }
}

/// The objective per unit of α; infinite where the target cannot be reached.
pub(crate) fn value(model: &RoundModel<'_, '_>, q: &[f64], round_secs: f64) -> f64 {
    model.headroom(q).map_or(f64::INFINITY, |headroom| round_secs / headroom)
}

/// A way to a starting point.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// P2's optimum with compute times times a factor.
    Discounted(f64),
    /// P2's optimum with only the part of compute times that exceeds a time spent anyway: that of this share of devices.
    Beyond(f64),
    /// Every device with the same share of its cap.
    Share(f64),
}

/// All ways, the most promising one first.
const STARTS: [Start; 14] = [
    Start::Discounted(1.0),
    Start::Discounted(0.3),
    Start::Discounted(0.1),
    Start::Discounted(0.03),
    Start::Discounted(0.0),
    Start::Beyond(0.1),
    Start::Beyond(0.25),
    Start::Beyond(0.5),
    Start::Beyond(0.75),
    Start::Beyond(0.9),
    Start::Beyond(1.0),
    Start::Share(1.0),
    Start::Share(0.5),
    Start::Share(0.1),
];

/// As many of the starting points: each takes about as long as a step.
pub(crate) fn starts(model: &RoundModel<'_, '_>, count: usize) -> Vec<Vec<f64>> {
    let problem = model.problem();
    let fleet = problem.fleet();
    let (compute, transfers) = (fleet.compute_secs(), problem.transfer_secs());
    let mut solver = RatioSolver::default();
    let mut optimum = |offset_secs: f64, compute_cost: &dyn Fn(f64) -> f64| {
        let cost_secs: Vec<f64> =
            compute.iter().zip(transfers).map(|(&tau, secs)| secs + compute_cost(tau)).collect();
        let mut q = vec![0.0; fleet.len()];
        let ratio = Ratio {
            weights: fleet.weights(),
            caps: fleet.availability(),
            cost_secs: &cost_secs,
            offset_secs: offset_secs + problem.overhead_secs(),
            beta: model.beta(),
        };
        solver.solve(ratio, &mut q);
        q
    };
    let mut sorted = Vec::new();
    let start = |start: &Start| match *start {
        Start::Discounted(factor) => optimum(0.0, &|tau| factor * tau),
        Start::Beyond(share) => {
            if sorted.is_empty() {
                sorted = compute.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
            }
            let spent_anyway = sorted[((sorted.len() - 1) as f64 * share) as usize];
            optimum(spent_anyway, &|tau| (tau - spent_anyway).max(0.0))
        }
        Start::Share(part) => {
            // With q = κ·cap the variance is C(cap)/κ, so every κ above C(cap)/β is feasible.
            let least_share = problem.least_variance() / model.beta();
            let share = least_share.powf(1.0 - part).clamp(least_share, 1.0);
            fleet.availability().iter().map(|cap| cap * share).collect()
        }
    };
    STARTS.iter().take(count).map(start).collect()
}

/// Descends from the `count` best of `starts`, and returns the best end.
pub(crate) fn best_descent(
    model: &RoundModel<'_, '_>,
    round_time: &mut impl RoundTime,
    starts: Vec<Vec<f64>>,
    count: usize,
    effort: Effort,
) -> Option<Descent> {
    let mut ranked: Vec<(f64, Vec<f64>)> = starts
        .into_iter()
        .map(|q| (value(model, &q, round_time.secs(&q)), q))
        .filter(|(value, _)| value.is_finite())
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranked
        .into_iter()
        .take(count)
        .map(|(_, start)| descend(model, round_time, start, effort))
        .min_by(|a, b| a.objective.total_cmp(&b.objective))
}
