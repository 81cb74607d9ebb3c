//! How far a q is from satisfying the optimality conditions.

use super::ratio::clipped;
use crate::problem::Problem;

/// The largest relative distance of a q_n from what the conditions make of it.
pub(crate) fn residual(q: &[f64], target: impl Fn(usize) -> f64) -> f64 {
    q.iter().enumerate().fold(0.0, |worst: f64, (n, &q)| worst.max((q - target(n)).abs() / q))
}

/// For a round time with value and gradient at q: q_n = min(cap_n, a_n √(ρ/∂_n)), ρ = value/(β − C(q)).
pub(crate) fn ratio_residual(problem: &Problem<'_>, q: &[f64], round_secs: f64, gradient: &[f64]) -> f64 {
    let Some(headroom) = problem.headroom(q) else { return f64::INFINITY };
    let fleet = problem.fleet();
    let root_value = (round_secs / headroom).sqrt();
    residual(q, |n| clipped(fleet.weights()[n], fleet.availability()[n], gradient[n], root_value))
}
