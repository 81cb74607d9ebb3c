//! Runs simulations for the Python package.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_fleet::RoundCosts;
use fedflip_run::{Finished, Planned, Session, Setup, simulate_planned, warnings};
use fedflip_scenario::Scenario;
use pyo3::prelude::*;

use crate::call::{Call, Options, data_folder, setup};
use crate::error::Failure;
use crate::fleet::PyFleet;
use crate::hosted::PyCrews;
use crate::learner::PyTrainer;
use crate::plan::PyPlan;
use crate::runs::RunData;
use crate::scenario::PyScenario;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_fleet, module)?)
}

/// The fleet of a scenario, with the numbers of samples that its data have.
#[pyfunction]
#[pyo3(signature = (scenario, data_dir=None))]
fn scenario_fleet(
    py: Python<'_>,
    scenario: &PyScenario,
    data_dir: Option<PathBuf>,
) -> Result<PyFleet, Failure> {
    let folder = data_folder(data_dir);
    let setup = py.detach(|| Setup::new(&scenario.scenario, &mut Session::new(folder)))?;
    Ok(PyFleet(Arc::new(setup.fleet)))
}

/// One run. Without a folder it returns the run's data; otherwise they are in the folder.
#[pyfunction]
#[pyo3(signature = (scenario, options, trainer=None, plan=None, crews=None))]
fn simulate(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    trainer: Option<PyRef<'_, PyTrainer>>,
    plan: Option<PyRef<'_, PyPlan>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<RunData>, Failure> {
    let call = Call::new(py, options, (trainer, crews))?;
    let mut scenario = scenario.scenario.clone();
    let expected = plan.as_deref().map(Expected::of);
    let out = options.out.as_deref();
    let (data, other_plan) = call.detached(py, |session, trainer| {
        let setup = setup(&mut scenario, trainer, session)?;
        let planned = setup.plan(&scenario, Some(scenario.plan.constants))?;
        if expected.is_some_and(|expected| !expected.is_met(&planned, &scenario)) {
            return Ok((None, true));
        }
        for text in warnings::of_plan(&planned, &scenario, &setup.fleet) {
            session.observers.warn(&text);
        }
        let Finished { model, records, .. } = simulate_planned(&setup, &scenario, &planned, out, session)?;
        let q = planned.schedule.mean_q();
        let data = model.zip(records).map(|(model, records)| {
            let (fleet, params) = (Arc::new(setup.fleet.clone()), setup.trainer.params());
            RunData::in_memory(*records, fleet, q, setup.stored(&scenario), params, model)
        });
        Ok((data, false))
    })?;
    if other_plan { Err(Expected::refused("plan")) } else { Ok(data) }
}

/// What a plan of the caller's says of a run, which plans again.
pub(crate) struct Expected {
    q: Vec<f64>,
    costs: Option<RoundCosts>,
}

impl Expected {
    pub(crate) fn of(plan: &PyPlan) -> Self {
        let costs = plan.are_costs_known.then_some(plan.costs);
        Self { q: plan.planned.schedule.usual().q().to_vec(), costs }
    }

    /// Whether the plan of the run has the same q, for the same costs of a round.
    pub(crate) fn is_met(&self, planned: &Planned, scenario: &Scenario) -> bool {
        self.q == planned.schedule.usual().q()
            && self.costs.is_none_or(|costs| costs == scenario.planned_costs())
    }

    pub(crate) fn refused(place: &str) -> Failure {
        let problem = "the plan is not the one that the run's fleet and settings lead to";
        let remedy = "plan for the fleet of the run (scenario.fleet() has the samples of a task's data), and for its \
                      bandwidth, downlink and overhead";
        Failure::input(problem, remedy).at(place)
    }
}
