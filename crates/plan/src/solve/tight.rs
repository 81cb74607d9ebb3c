//! `tight`: Theorem 2's first bound, Σ q t/f + E[max τ], in place of Σ q c.
//!
//! Σ q c adds up compute times that run in parallel: with 20 participants it can be 20 times too large,
//! and so favours fewer participants than it should.

use super::descent::{Effort, RoundTime, best_descent, starts};
use super::exact;
use crate::plan::Plan;
use crate::problem::RoundModel;
use crate::round_time::FirstBound;

/// The best of several descents; never worse than `exact` under its own objective, which is a start.
pub(crate) fn plan(model: &RoundModel<'_, '_>) -> Plan {
    best_of(model, effort(model.problem().fleet().len()))
}

/// The same in a small part of the time: from the most promising starts alone, and to fewer digits.
pub(crate) fn quick_plan(model: &RoundModel<'_, '_>) -> Plan {
    best_of(model, quick_effort(model.problem().fleet().len()))
}

fn best_of(model: &RoundModel<'_, '_>, (count, effort): (usize, Effort)) -> Plan {
    let problem = model.problem();
    let from = starts(model, if problem.fleet().len() > LARGE_FLEET { 3 } else { usize::MAX });
    match best_descent(model, &mut FirstBound::new(problem), from, count, effort) {
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

/// The two best starts, or the best one where a step takes long.
fn quick_effort(devices: usize) -> (usize, Effort) {
    match devices {
        0..=LARGE_FLEET => (2, Effort { steps_max: 60, improvement_min: 1e-9 }),
        _ => (1, Effort { steps_max: 8, improvement_min: 1e-5 }),
    }
}

impl RoundTime for FirstBound<'_, '_> {
    fn secs(&mut self, q: &[f64]) -> f64 {
        self.value(q)
    }

    fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        FirstBound::gradient(self, q, gradient)
    }
}
