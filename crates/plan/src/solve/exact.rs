//! P2 exactly: min α Σ q c/(β − C(q)) over 0 < q ≤ cap.

use super::kkt;
use super::ratio::{Ratio, RatioSolver};
use crate::plan::{Plan, PlanStatus};
use crate::problem::Problem;
use crate::scheme::Scheme;

/// The global optimum of P2, in O(N log N).
pub fn plan(problem: &Problem<'_>) -> Plan {
    let q = participation(problem);
    let residual = kkt::ratio_residual(problem, &q, problem.linear_bound_secs(&q), problem.cost_secs());
    Plan::new(problem.fleet(), Scheme::Exact, PlanStatus::Optimal, q).with_kkt_residual(residual)
}

/// Only its q.
pub(crate) fn participation(problem: &Problem<'_>) -> Vec<f64> {
    participation_at(problem, problem.constants().beta())
}

/// As it would be with another β.
pub(super) fn participation_at(problem: &Problem<'_>, beta: f64) -> Vec<f64> {
    let fleet = problem.fleet();
    let mut q = vec![0.0; fleet.len()];
    let ratio = Ratio {
        weights: fleet.weights(),
        caps: fleet.availability(),
        cost_secs: problem.cost_secs(),
        offset_secs: 0.0,
        beta,
    };
    RatioSolver::default().solve(ratio, &mut q);
    q
}
