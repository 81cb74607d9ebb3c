//! `tight`: Theorem 2's first bound, Σ q t/f + E[max τ], in place of Σ q c.
//!
//! Σ q c adds up compute times that run in parallel: with 20 participants it can be 20 times too large,
//! and so favours fewer participants than it should.

use super::descent::{Effort, RoundTime, best_descent, starts};
use super::exact;
use crate::plan::Plan;
use crate::problem::{Problem, RoundModel};
use crate::round_time::ExpectedMax;

/// The best of several descents; never worse than `exact` under its own objective, which is a start.
pub(crate) fn plan(model: &RoundModel<'_, '_>) -> Plan {
    let problem = model.problem();
    let mut bound = FirstBound::new(problem);
    let (count, effort) = effort(problem.fleet().len());
    let mut from = starts(model);
    if problem.fleet().len() > LARGE_FLEET {
        from.truncate(3);
    }
    match best_descent(model, &mut bound, from, count, effort) {
        Some(best) => best.into_plan(model),
        // Every problem has a feasible point, so this is for the type only.
        None => exact::plan(model),
    }
}

/// From here on a step takes tens of milliseconds and more.
const LARGE_FLEET: usize = 20_000;

/// Descents and their bounds for a fleet of this size: all starts and full precision up to a thousand
/// devices; the most promising one, and fewer digits, for a million, where a step takes half a second.
fn effort(devices: usize) -> (usize, Effort) {
    match devices {
        0..=1_000 => (usize::MAX, Effort { steps_max: 500, improvement_min: 1e-13 }),
        1_001..=LARGE_FLEET => (4, Effort { steps_max: 100, improvement_min: 1e-10 }),
        _ => (1, Effort { steps_max: 10, improvement_min: 1e-6 }),
    }
}

/// Σ q t/f + E[max τ].
pub(super) struct FirstBound<'a> {
    comm_secs: &'a [f64],
    bandwidth_mbps: f64,
    expected_max: ExpectedMax,
}

impl<'a> FirstBound<'a> {
    pub(super) fn new(problem: &Problem<'a>) -> Self {
        let fleet = problem.fleet();
        Self {
            comm_secs: fleet.comm_secs(),
            bandwidth_mbps: problem.bandwidth().get(),
            expected_max: ExpectedMax::new(fleet.compute_secs()),
        }
    }

    fn upload_secs(&self, q: &[f64]) -> f64 {
        q.iter().zip(self.comm_secs).map(|(q, t)| q * t).sum::<f64>() / self.bandwidth_mbps
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
            .for_each(|(slope, t)| *slope = slope.max(0.0) + t / self.bandwidth_mbps);
        self.upload_secs(q) + max_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gradient_is_the_finite_difference(
            devices in prop::collection::vec((0.0..10.0_f64, 0.0..10.0_f64, 0.1..=0.9_f64), 1..20),
        ) {
            let tau: Vec<f64> = devices.iter().map(|device| device.0).collect();
            let comm_secs: Vec<f64> = devices.iter().map(|device| device.1).collect();
            let q: Vec<f64> = devices.iter().map(|device| device.2).collect();
            let mut bound =
                FirstBound { comm_secs: &comm_secs, bandwidth_mbps: 3.0, expected_max: ExpectedMax::new(&tau) };
            let mut gradient = vec![0.0; q.len()];
            let value = bound.gradient(&q, &mut gradient);
            prop_assert!((value - bound.secs(&q)).abs() < 1e-11);
            for n in 0..q.len() {
                let mut at = |shift: f64| {
                    let mut moved = q.clone();
                    moved[n] += shift;
                    bound.secs(&moved)
                };
                let difference = (at(0.1) - at(-0.1)) / 0.2;
                prop_assert!((gradient[n] - difference).abs() < 1e-10);
            }
        }
    }
}
