//! Comparisons, sweeps and pilots.

use std::sync::{Arc, PoisonError};

use fedflip_plan::Scheme;
use fedflip_run::RunError;
use fedflip_run::pilots::Pilots;
use fedflip_run::reuse::Trainings;
use fedflip_run::study::Study;
use fedflip_run::sweep::Sweep;
use fedflip_scenario::{Axis, Scenario, read_scheme};
use pyo3::prelude::*;

use crate::call::{Call, Options, setup};
use crate::error::Failure;
use crate::learner::{ForeignTrainer, PyTrainer};
use crate::scenario::PyScenario;
use crate::scheme::{PySampling, PyScheme};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyStudy>()?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(sweep, module)?)?;
    module.add_function(wrap_pyfunction!(pilot, module)?)
}

/// A scheme as the façade passes it on.
#[derive(FromPyObject)]
enum SchemeArgument<'py> {
    Name(String),
    Custom(PyRef<'py, PyScheme>),
}

impl SchemeArgument<'_> {
    fn scheme(&self) -> Result<Scheme, Failure> {
        match self {
            Self::Name(name) => Ok(read_scheme(name, std::path::Path::new(""))?),
            Self::Custom(scheme) => Ok(scheme.scheme.clone()),
        }
    }
}

/// How to compare, whatever the scenario.
#[pyclass(frozen, name = "Study", module = "fedflip._fedflip")]
pub(crate) struct PyStudy {
    study: Study,
    /// The callables among the schemes, which may raise.
    samplings: Vec<Arc<PySampling>>,
}

#[pymethods]
impl PyStudy {
    #[new]
    #[pyo3(signature = (schemes, reference, seeds, give_up=None, pilots=true))]
    fn new(
        schemes: Vec<SchemeArgument<'_>>,
        reference: SchemeArgument<'_>,
        seeds: u64,
        give_up: Option<f64>,
        pilots: bool,
    ) -> Result<Self, Failure> {
        let sampling = |scheme: &SchemeArgument<'_>| match scheme {
            SchemeArgument::Custom(scheme) => Some(Arc::clone(&scheme.sampling)),
            SchemeArgument::Name(_) => None,
        };
        let samplings = schemes.iter().filter_map(sampling).collect();
        let reference = reference.scheme()?;
        let schemes = schemes.iter().map(SchemeArgument::scheme).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { study: Study { schemes, reference, seeds, give_up, no_pilot: !pilots }, samplings })
    }
}

/// Every scheme with every seed; the result as JSON, or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, study, trainer=None))]
fn compare(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    study: &PyStudy,
    trainer: Option<PyRef<'_, PyTrainer>>,
) -> Result<Option<String>, Failure> {
    let call = Call::new(py, options, trainer, study.samplings.clone())?;
    let (study, mut scenario) = (&study.study, scenario.scenario.clone());
    let out = options.out.as_deref();
    let studied = call.detached(py, |session, trainer| {
        study.check(&scenario)?;
        let setup = setup(&mut scenario, trainer, session)?;
        let studied = study.run_in(&setup, &scenario, out, "", session)?;
        // Results are plain data, so they have a text.
        Ok(studied.map(|studied| serde_json::to_string(&studied.json).unwrap_or_default()))
    })?;
    Ok(studied)
}

/// The path of a key, and its values as people read them and as TOML.
type AxisArgument = (String, Vec<(String, String)>);

/// A comparison at every combination of values; the result as JSON and the number of runs that were retimed and not trained,
/// or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, over, options, study, trainer=None))]
fn sweep(
    py: Python<'_>,
    scenario: &PyScenario,
    over: Vec<AxisArgument>,
    options: &Options,
    study: &PyStudy,
    trainer: Option<PyRef<'_, PyTrainer>>,
) -> Result<Option<(String, usize)>, Failure> {
    let call = Call::new(py, options, trainer, study.samplings.clone())?;
    let (study, out) = (&study.study, options.out.as_deref());
    let axes = |base: &Scenario| over.iter().map(|(path, values)| Axis::of(path, values, base)).collect();
    let here = Arc::clone(&call.point);
    let swept = call.detached(py, |session, trainer| {
        let sweep = Sweep::new((&scenario.source, &scenario.overrides), axes, study)?;
        if let Some(trainer) = &trainer {
            sweep.check(|scenario| check_point(scenario, trainer))?;
        }
        let found = sweep.run(study, out, session, &mut |point, scenario, session| {
            *here.lock().unwrap_or_else(PoisonError::into_inner) = Some(point.to_string());
            setup(scenario, trainer.clone(), session)
        })?;
        let retimed = session.trainings.as_ref().map_or(0, Trainings::reused);
        // Results are plain data, so they have a text.
        let text = |found: Vec<_>| serde_json::to_string(&sweep.json(&found)).unwrap_or_default();
        Ok(found.map(|found| (text(found), retimed)))
    })?;
    Ok(swept)
}

/// Refuses before the first point what a learner cannot train at a point.
fn check_point(scenario: &Scenario, trainer: &ForeignTrainer) -> Result<(), RunError> {
    Study::check_target(scenario)?;
    scenario.fleet(&trainer.samples)?;
    Ok(scenario.engine_stop().check_metric(&trainer.metrics)?)
}

/// α and β from pilots, as JSON; none if they were interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, trainer=None))]
fn pilot(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    trainer: Option<PyRef<'_, PyTrainer>>,
) -> Result<Option<String>, Failure> {
    let call = Call::new(py, options, trainer, Vec::new())?;
    let mut scenario = scenario.scenario.clone();
    let out = options.out.as_deref();
    let piloted = call.detached(py, |session, trainer| {
        let setup = setup(&mut scenario, trainer, session)?;
        let pilots = Pilots { setup: &setup, scenario: &scenario, out, prefix: "", kept: 0 };
        let piloted = setup.with_crew(session.threads, |crew| pilots.run(crew, session))?;
        let Some(piloted) = piloted else { return Ok(None) };
        let hours = piloted.hours();
        let (runs, fit) = (piloted.runs, piloted.fit?);
        let ends = |interval: Option<fedflip_plan::constants::Interval>| {
            interval.map(|interval| [interval.low, interval.high])
        };
        let json = serde_json::json!({
            "alpha": fit.constants.alpha(),
            "beta": fit.constants.beta(),
            "alpha_interval": ends(fit.alpha_interval),
            "beta_interval": ends(fit.beta_interval),
            "hours": hours,
            "loss": scenario.pilot.loss,
            "runs": runs,
        });
        Ok(Some(json.to_string()))
    })?;
    Ok(piloted)
}
