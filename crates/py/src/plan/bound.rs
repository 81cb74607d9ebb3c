//! Theorem 1: a bound on the gradient after a number of rounds.

use fedflip::planner::{Bound as Theorem1, BoundQuestion};
use fedflip_fleet::{Fleet, Mbps};
use fedflip_plan::theorem1::Assumptions;
use fedflip_plan::warnings::capped;
use fedflip_plan::{Constants, Plan, PlanError, Planning, Problem, Scheme, sampling_variance, solve};
use pyo3::prelude::*;

use super::arguments::{scheme, variance};
use super::costs::{in_range, out_of_range};
use super::{PyPlan, refused};
use crate::error::Failure;
use crate::fleet::PyFleet;

/// Adds what the module has to the extension module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bound, module)?)?;
    module.add_function(wrap_pyfunction!(bound_of_plan, module)?)
}

/// The arguments of the theorem.
#[derive(Clone, Copy, Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct TheoremArguments {
    learning_rate: f64,
    smoothness: f64,
    divergence: f64,
    gradient_variance: f64,
    initial_gap: f64,
    rounds: Option<f64>,
    threshold: Option<f64>,
    p: Option<f64>,
}

impl TheoremArguments {
    fn assumptions(&self, py: Python<'_>, devices: usize) -> Result<Assumptions, Failure> {
        let assumptions = Assumptions {
            devices,
            learning_rate: self.learning_rate,
            smoothness: self.smoothness,
            divergence_sq: self.divergence,
            gradient_variance: self.gradient_variance,
            initial_gap: self.initial_gap,
        };
        assumptions.checked().map_err(|error| refused(py, &error))
    }

    fn question(&self, py: Python<'_>) -> Result<BoundQuestion, Failure> {
        let Self { rounds, threshold, p, .. } = *self;
        if rounds.is_none() && threshold.is_none() {
            let problem = "rounds: neither rounds nor a threshold is given, so that nothing is asked";
            let remedy = "give rounds to evaluate the bound at, or a threshold to reach, or both";
            return Err(Failure::input(problem, remedy).at("rounds"));
        }
        let wanted = "a number above 0, at most 1e100";
        for (place, value) in [("rounds", rounds), ("threshold", threshold), ("p", p)] {
            value.map(|value| in_range(py, place, value, 1e-100..=1e100, wanted)).transpose()?;
        }
        Ok(BoundQuestion { rounds, threshold, p })
    }
}

/// The answer as JSON and as text, and what to be warned of.
type Answer = (String, String, Vec<String>);

/// Theorem 1 for a fleet whose q a scheme chooses.
#[pyfunction]
fn bound(
    py: Python<'_>,
    fleet: &PyFleet,
    arguments: TheoremArguments,
    scheme_name: &str,
    bandwidth_mbps: Option<f64>,
    variance_asked: Option<f64>,
) -> PyResult<Answer> {
    let fleet = &*fleet.0;
    let scheme = scheme(py, scheme_name)?;
    let bandwidth = bandwidth_mbps.map(Mbps::new).transpose().map_err(out_of_range(py, "bandwidth_mbps"))?;
    let question = arguments.question(py)?;
    let variance = variance(py, variance_asked, &scheme)?;
    if !scheme.is_baseline() && bandwidth.is_none() {
        let problem = "bandwidth_mbps: a planned scheme needs a bandwidth to plan for";
        let remedy = "add bandwidth_mbps, or use a baseline such as scheme=\"fixed=0.2\"";
        return Err(Failure::input(problem, remedy).at("bandwidth_mbps").into());
    }
    if scheme.needs_constants() && question.threshold.is_none() {
        let problem = "threshold: a planned scheme needs a threshold to plan for";
        let remedy = "add threshold, or use scheme=\"auto\" or a baseline such as scheme=\"fixed=0.2\"";
        return Err(Failure::input(problem, remedy).at("threshold").into());
    }
    let assumptions = arguments.assumptions(py, fleet.len())?;
    let constants = constants(py, &scheme, &assumptions, question.threshold)?;
    let plan = py.detach(|| match bandwidth {
        None => Plan::baseline(fleet, &scheme),
        Some(bandwidth) => {
            let planning = Planning { constants, variance, seed: 0, ..Planning::new(scheme.clone()) };
            solve(&Problem::new(fleet, bandwidth), &planning)
        }
    });
    let plan = plan.map_err(|error| refused(py, &error))?;
    let warnings = capped(&scheme, &plan, fleet).into_iter().collect();
    answer(py, (fleet, &plan, &scheme.to_string()), &assumptions, question, warnings)
}

/// Theorem 1 for a plan that there is already.
#[pyfunction]
fn bound_of_plan(py: Python<'_>, plan: &PyPlan, arguments: TheoremArguments) -> PyResult<Answer> {
    let question = arguments.question(py)?;
    let assumptions = arguments.assumptions(py, plan.fleet.len())?;
    let scheme = if plan.given { "given".to_owned() } else { plan.planning.scheme.to_string() };
    answer(py, (&plan.fleet, plan.plan(), &scheme), &assumptions, question, Vec::new())
}

/// The theorem's α and β, which stand for those of pilots; none where the scheme needs none.
fn constants(
    py: Python<'_>,
    scheme: &Scheme,
    assumptions: &Assumptions,
    threshold: Option<f64>,
) -> Result<Option<Constants>, Failure> {
    let Some(threshold) = threshold.filter(|_| scheme.needs_constants()) else { return Ok(None) };
    let constants = assumptions.constants(threshold).map_err(|error| refused(py, &error))?;
    constants.map(Some).ok_or_else(|| {
        let problem = "divergence: with ε² + σ² = 0 sampling adds no variance, and there is nothing to plan";
        let remedy = "use a baseline such as scheme=\"fixed=0.2\", or give divergence or gradient_variance";
        Failure::input(problem, remedy).at("divergence")
    })
}

fn answer(
    py: Python<'_>,
    (fleet, plan, scheme): (&Fleet, &Plan, &str),
    assumptions: &Assumptions,
    question: BoundQuestion,
    warnings: Vec<String>,
) -> PyResult<Answer> {
    let variance = sampling_variance(fleet.weights(), plan.q());
    let bound = Theorem1::new(scheme, assumptions, variance, question)
        .map_err(|error: PlanError| refused(py, &error))?;
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = bound.write(&mut text);
    let json = serde_json::to_string(&bound).map_err(|error| Failure::other(error, ""))?;
    Ok((json, String::from_utf8_lossy(&text).into_owned(), warnings))
}
