//! Schemes that optimise q, each by its solver.

use crate::error::PlanError;
use crate::method::Method;
use crate::plan::Plan;
use crate::planning::{Planning, fewest_device_secs, judged, round_model, shortest_rounds};
use crate::problem::Problem;
use crate::solve::{exact, line_search, paper, sampled, tight};

/// Theorem 2's first bound for a sampling variance.
pub(crate) struct Auto;
/// Σ q c for a sampling variance.
pub(crate) struct AutoLinear;
/// Minimises P2, the paper's bound on the total time.
pub(crate) struct Exact;
/// P3 in closed form.
pub(crate) struct Paper;
/// Minimises P3 by Algorithm 2 as printed.
pub(crate) struct PaperLinesearch;
/// P2 with Theorem 2's first bound.
pub(crate) struct Tight;
/// P2 with the mean round time.
pub(crate) struct Sampled;

impl Method for Auto {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        shortest_rounds(problem, planning.variance).map(|plan| judged(problem, planning, plan))
    }
}

impl Method for AutoLinear {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        fewest_device_secs(problem, planning.variance).map(|plan| judged(problem, planning, plan))
    }
}

impl Method for Exact {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        Ok(exact::plan(&round_model(problem, planning)?))
    }
}

impl Method for Paper {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        paper::plan(&round_model(problem, planning)?)
    }
}

impl Method for PaperLinesearch {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        line_search::plan(&round_model(problem, planning)?, planning.line_search)
    }
}

impl Method for Tight {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        Ok(tight::plan(&round_model(problem, planning)?))
    }
}

impl Method for Sampled {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        sampled::plan(&round_model(problem, planning)?, planning.seed)
    }
}
