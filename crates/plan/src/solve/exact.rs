//! P2 exactly, with the overhead o of a round: min α (o + Σ q c)/(β − C(q)) over 0 < q ≤ cap.

use super::kkt;
use super::ratio::{Ratio, RatioSolver};
use crate::plan::{Plan, PlanStatus};
use crate::problem::{Problem, RoundModel};

/// The global optimum of P2, in O(N log N).
pub(crate) fn plan(model: &RoundModel<'_, '_>) -> Plan {
    let problem = model.problem();
    let q = participation(problem, model.beta());
    let residual = kkt::ratio_residual(model, &q, problem.linear_bound_secs(&q), problem.cost_secs());
    Plan::new(problem.fleet(), PlanStatus::Optimal, q).with_kkt_residual(residual)
}

/// The q that minimises (o + Σ q c)/(β − C(q)). Requires β > Σ a²/cap.
pub(crate) fn participation(problem: &Problem<'_>, beta: f64) -> Vec<f64> {
    let fleet = problem.fleet();
    let mut q = vec![0.0; fleet.len()];
    let ratio = Ratio {
        weights: fleet.weights(),
        caps: fleet.availability(),
        cost_secs: problem.cost_secs(),
        offset_secs: problem.overhead_secs(),
        beta,
    };
    RatioSolver::default().solve(ratio, &mut q);
    q
}
