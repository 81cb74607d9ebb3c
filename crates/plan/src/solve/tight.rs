//! `tight`: Theorem 2's first bound, Σ q t/f + E[max τ], in place of Σ q c.
//!
//! Σ q c adds up compute times that run in parallel: with 20 participants it can be 20 times too large,
//! and so favours fewer participants than it should.

use super::descent::{Effort, RoundTime, best_descent, starts};
use super::exact;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::round_time::ExpectedMax;
use crate::scheme::Scheme;

/// The best of several descents; never worse than `exact` under its own objective, which is a start.
pub fn plan(problem: &Problem<'_>) -> Plan {
    let mut bound = FirstBound::new(problem);
    let (count, effort) = effort(problem.fleet().len());
    match best_descent(problem, &mut bound, starts(problem), count, effort) {
        Some(best) => best.into_plan(problem, Scheme::Tight),
        // Every problem has a feasible point, so this is for the type only.
        None => exact::plan(problem),
    }
}

/// Descents and their bounds for a fleet of this size: all starts and full precision up to a thousand
/// devices; the most promising one, and fewer digits, for a million, where a step takes half a second.
fn effort(devices: usize) -> (usize, Effort) {
    match devices {
        0..=1_000 => (usize::MAX, Effort { steps_max: 500, improvement_min: 1e-13 }),
        1_001..=20_000 => (4, Effort { steps_max: 100, improvement_min: 1e-10 }),
        _ => (1, Effort { steps_max: 20, improvement_min: 1e-7 }),
    }
}

/// Σ q t/f + E[max τ].
struct FirstBound<'a> {
    comm_secs: &'a [f64],
    band_mbps: f64,
    expected_max: ExpectedMax,
}

impl<'a> FirstBound<'a> {
    fn new(problem: &Problem<'a>) -> Self {
        let fleet = problem.fleet();
        Self {
            comm_secs: fleet.comm_secs(),
            band_mbps: problem.band().get(),
            expected_max: ExpectedMax::new(fleet.compute_secs()),
        }
    }

    fn upload_secs(&self, q: &[f64]) -> f64 {
        q.iter().zip(self.comm_secs).map(|(q, t)| q * t).sum::<f64>() / self.band_mbps
    }
}

impl RoundTime for FirstBound<'_> {
    fn secs(&mut self, q: &[f64]) -> f64 {
        self.upload_secs(q) + self.expected_max.value(q)
    }

    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let max_secs = self.expected_max.gradient(q, gradient);
        gradient
            .iter_mut()
            .zip(self.comm_secs)
            .for_each(|(slope, t)| *slope = slope.max(0.0) + t / self.band_mbps);
        self.upload_secs(q) + max_secs
    }
}
