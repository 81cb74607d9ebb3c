//! Plans: q and its weights, coins, predictions, bandwidth and bounds.
//!
//! - `costs`, `arguments`: arguments turned into checked settings; `refusal`: why there is no plan.
//! - `object`: the plan itself; `words`: explanations and comparisons.
//! - `allocate`: the bandwidth of one round; `bound`: Theorem 1.

mod allocate;
mod arguments;
mod bound;
mod costs;
mod object;
mod refusal;
mod words;

use std::fs;
use std::sync::Arc;

use fedflip::planner::{self, Dialect, PlanSettings};
use fedflip_fleet::{Band, Mbps, RoundCosts};
use fedflip_plan::{Constants, Plan, Scheme, sampling_variance};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use self::arguments::PlanArguments;
use self::costs::CostArguments;
pub(crate) use self::object::PyPlan;
pub(crate) use self::refusal::refused;
use crate::error::Failure;
use crate::fleet::{Column, PyFleet};
use crate::scenario::shared_keys;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPlan>()?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    allocate::register(module)?;
    bound::register(module)
}

#[pymethods]
impl PyPlan {
    /// Plans by a scheme.
    #[staticmethod]
    fn make(py: Python<'_>, fleet: &PyFleet, costs: CostArguments, goal: PlanArguments) -> PyResult<Self> {
        let fleet = Arc::clone(&fleet.0);
        let costs = costs::needed(costs.costs(py, &fleet)?)?;
        let (planning, constants) = goal.planning(py, &fleet)?;
        let draws = goal.draws;
        let (source, dialect) = (String::new(), Dialect::Python);
        let settings = PlanSettings { source, fleet, costs, constants, planning, draws, dialect };
        let solved = py.detach(|| planner::solve(&settings.problem(), &settings.planning, dialect));
        let (plan, solve_secs) = solved.map_err(|error| refused(py, &error))?;
        Ok(Self::new(settings, plan, solve_secs, false, true))
    }

    /// The plan with participation probabilities that the caller chose.
    #[staticmethod]
    fn from_q(
        py: Python<'_>,
        fleet: &PyFleet,
        q: PyReadonlyArray1<'_, f64>,
        costs: CostArguments,
        goal: PlanArguments,
    ) -> PyResult<Self> {
        let fleet = Arc::clone(&fleet.0);
        let known = costs.costs(py, &fleet)?;
        let costs = match known {
            Some(costs) => costs,
            None => RoundCosts::from(Mbps::new(1.0).map_err(costs::out_of_range(py, "bandwidth_mbps"))?),
        };
        let (planning, constants) = goal.planning_of_given(py, &fleet)?;
        let plan = Plan::from_q(&fleet, q.as_array().to_vec()).map_err(|error| refused(py, &error))?;
        let (source, dialect, draws) = (String::new(), Dialect::Python, goal.draws);
        let settings = PlanSettings { source, fleet, costs, constants, planning, draws, dialect };
        Ok(Self::new(settings, plan, 0.0, true, known.is_some()))
    }

    /// The keys of a scenario that this plan shares with other schemes of a comparison.
    fn shared_keys(&self) -> Vec<String> {
        shared_keys(self)
    }

    /// The participation probabilities, in fleet order.
    fn q(slf: &Bound<'_, Self>) -> Column {
        Column::of(slf, slf.get().plan().q())
    }

    /// a/q, in fleet order.
    fn weights(slf: &Bound<'_, Self>) -> Column {
        Column::of(slf, slf.get().plan().aggregation_weights())
    }

    /// The scheme by its name.
    #[getter]
    fn scheme(&self) -> String {
        if self.given { "given".to_owned() } else { self.planning.scheme.to_string() }
    }

    /// Whether each device flips a coin of its own, so that a/q are the weights of the sum.
    #[getter]
    fn flips_coins(&self) -> bool {
        self.planning.scheme.method().flips_coins()
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.plan().status().name()
    }

    #[getter]
    fn bandwidth_mbps(&self) -> Option<f64> {
        match self.costs.band {
            Band::Linear(bandwidth) if self.are_costs_known => Some(bandwidth.get()),
            _ => None,
        }
    }

    #[getter]
    fn spectrum_mhz(&self) -> Option<f64> {
        match self.costs.band {
            Band::Shannon(spectrum) if self.are_costs_known => Some(spectrum.get()),
            _ => None,
        }
    }

    /// α and β, if they are known.
    #[getter]
    fn constants(&self) -> Option<(f64, f64)> {
        self.planning.constants.map(|constants: Constants| (constants.alpha(), constants.beta()))
    }

    #[getter]
    fn expected_participants(&self) -> f64 {
        self.planned.expected.participants
    }

    #[getter]
    fn sampling_variance(&self) -> f64 {
        sampling_variance(self.fleet.weights(), self.plan().q())
    }

    #[getter]
    fn rounds(&self) -> Option<f64> {
        self.planned.expected.rounds
    }

    /// The mean round time and its standard error; None where cohorts depend on reports, or the bandwidth is unknown.
    fn round_secs(&self, py: Python<'_>) -> PyResult<Option<(f64, f64)>> {
        let outlook = py.detach(|| self.outlook())?;
        let secs = outlook.and_then(|outlook| outlook.evaluation.round_secs);
        Ok(secs.map(|secs| (secs.mean.mean, secs.mean.std_error)))
    }

    fn total_secs(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(py.detach(|| self.outlook())?.and_then(|outlook| outlook.evaluation.total_secs))
    }

    fn optimality_gap(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(py.detach(|| self.outlook())?.and_then(|outlook| outlook.optimality_gap))
    }

    /// The positions of the devices that take part in a round, counted from 1.
    fn sample<'py>(&self, py: Python<'py>, round: u64, seed: u64) -> PyResult<Bound<'py, PyArray1<i64>>> {
        if self.planning.scheme.method().depends_on_reports() {
            let problem = format!(
                "sample: what devices report in a run decides the cohorts of {}",
                self.planning.scheme
            );
            let remedy =
                "simulate the scheme with fedflip.simulate: the records have the cohort of every round";
            return Err(Failure::input(problem, remedy).at("scheme").of(py, self.scheme()).into());
        }
        let cohort = py.detach(|| self.cohort(round, seed));
        Ok(PyArray1::from_iter(py, cohort.into_iter().map(|device| device as i64)))
    }

    /// Writes name, q and a/q of each device as CSV, as `fedflip plan --out` does.
    fn to_csv(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let scheme = &self.planning.scheme;
        if !scheme.method().flips_coins() {
            let problem =
                format!("a file of a plan has the probabilities of coins, and {scheme} flips no coins");
            let remedy = "write the plan of another scheme";
            return Err(Failure::input(problem, remedy).at("scheme").of(py, self.scheme()).into());
        }
        let written = py.detach(|| fs::write(path, self.planned.schedule.csv(&self.fleet)));
        Ok(written.map_err(|error| {
            let problem = format!("{path}: cannot be written: {error}");
            Failure::input(problem, "name a file in a folder that exists and can be written")
                .at("path")
                .of(py, path)
        })?)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.planning == other.planning
            && (self.costs, self.are_costs_known) == (other.costs, other.are_costs_known)
            && (self.given, self.constants) == (other.given, other.constants)
            && self.plan() == other.plan()
            && (Arc::ptr_eq(&self.fleet, &other.fleet) || self.fleet == other.fleet)
    }

    /// Name, file and rows of a scheme `file=NAME`; None for other schemes.
    fn given_rows(&self, py: Python<'_>) -> Option<(String, String, String)> {
        py.detach(|| self.rows_of_file())
    }

    /// What to know before the plan is used.
    fn warnings(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.all_warnings())
    }

    /// What the command line prints about the plan; all devices are listed if `devices` says so.
    fn explain(&self, py: Python<'_>, source: &str, devices: bool) -> PyResult<String> {
        Ok(py.detach(|| self.explained(source, devices, words::text))?)
    }

    /// The same in parts: title, paragraphs, table and reasons.
    fn explanation(&self, py: Python<'_>, source: &str, devices: bool) -> PyResult<words::Parts> {
        Ok(py.detach(|| self.explained(source, devices, words::parts))?)
    }

    /// What `fedflip plan --json` prints.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.as_json())?)
    }

    /// Every scheme beside the others, for the same fleet, costs and constants.
    fn compare(&self, py: Python<'_>, source: &str) -> PyResult<Py<PyAny>> {
        words::compare(py, self, source)
    }
}

/// The schemes: an example of the name, a sentence, and the rule.
#[pyfunction]
fn schemes() -> Vec<(String, &'static str, &'static str)> {
    Scheme::table().map(|(example, row)| (example, row.summary, row.rule)).collect()
}
