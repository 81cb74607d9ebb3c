//! Comparisons, sweeps and pilots.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_plan::Scheme;
use fedflip_run::pilots::Pilots;
use fedflip_run::reuse::Trainings;
use fedflip_run::study::Study;
use fedflip_run::sweep::Sweep;
use fedflip_run::{RunError, Setup};
use fedflip_scenario::{Axis, Scenario, read_scheme};
use pyo3::prelude::*;

use crate::call::{Call, Options, setup};
use crate::error::Failure;
use crate::hosted::PyCrews;
use crate::learner::{ForeignTrainer, PyTrainer};
use crate::plan::{PyPlan, refused};
use crate::scenario::{PyScenario, scheme_of};
use crate::scheme::PyScheme;
use crate::shard::part_of;
use crate::simulate::Expected;

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
    /// A plan, and the name of a file that stands for its q if the caller chose q.
    Plan(PyRef<'py, PyPlan>, String),
}

impl SchemeArgument<'_> {
    /// The scheme; `place` is the argument that it comes from.
    fn scheme(&self, py: Python<'_>, place: &str) -> Result<Scheme, Failure> {
        match self {
            Self::Name(name) => {
                read_scheme(name, Path::new("")).map_err(|error| refused(py, &error).at(place).of(py, name))
            }
            Self::Custom(scheme) => Ok(scheme.scheme.clone()),
            Self::Plan(plan, file) => scheme_of(plan, file),
        }
    }

    fn expected(&self) -> Option<Expected> {
        match self {
            Self::Plan(plan, _) => Some(Expected::of(plan)),
            Self::Name(_) | Self::Custom(_) => None,
        }
    }
}

/// How to compare, whatever the scenario.
#[pyclass(frozen, name = "Study", module = "fedflip._fedflip")]
pub(crate) struct PyStudy {
    study: Study,
    /// What the plans among the schemes say of the runs.
    expected: Vec<Option<Expected>>,
}

#[pymethods]
impl PyStudy {
    #[new]
    #[pyo3(signature = (schemes, reference, seeds, give_up=None, pilots=true, shard=None))]
    fn new(
        py: Python<'_>,
        schemes: Vec<SchemeArgument<'_>>,
        reference: SchemeArgument<'_>,
        seeds: u64,
        give_up: Option<f64>,
        pilots: bool,
        shard: Option<(u64, u64)>,
    ) -> Result<Self, Failure> {
        let expected = schemes.iter().map(SchemeArgument::expected).collect();
        let named = schemes.iter().enumerate();
        let schemes = named
            .map(|(place, scheme)| scheme.scheme(py, &format!("schemes[{place}]")))
            .collect::<Result<Vec<_>, _>>()?;
        let reference = reference.scheme(py, "reference")?;
        if !schemes.contains(&reference) {
            let problem = format!("reference: {reference} is not one of the schemes that are compared");
            let remedy = format!("add {reference} to schemes");
            return Err(Failure::input(problem, remedy).at("reference").of(py, reference.to_string()));
        }
        let part = shard.map(|(index, count)| part_of(index, count)).transpose()?;
        let study = Study { schemes, reference, seeds, give_up, no_pilot: !pilots, part };
        Ok(Self { study, expected })
    }
}

impl PyStudy {
    /// The place of a plan that is not the one which the runs of a scenario have.
    fn other_plan(&self, setup: &Setup, scenario: &Scenario) -> Result<Option<usize>, RunError> {
        for (place, (scheme, expected)) in self.study.schemes.iter().zip(&self.expected).enumerate() {
            let Some(expected) = expected else { continue };
            let mut scenario = scenario.clone();
            scenario.plan.scheme = scheme.clone();
            match setup.plan(&scenario, Some(scenario.plan.constants)) {
                Ok(planned) if expected.is_met(&planned, &scenario) => {}
                // The probabilities of a plan for other devices cannot be used here.
                Ok(_) | Err(RunError::Plan(_)) => return Ok(Some(place)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// The error about a plan among the schemes.
fn refused_plan(place: usize) -> Failure {
    Expected::refused(&format!("schemes[{place}]"))
}

/// Every scheme with every seed; the result as JSON, or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, study, trainer=None, crews=None))]
fn compare(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    study: &PyStudy,
    trainer: Option<PyRef<'_, PyTrainer>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<String>, Failure> {
    let call = Call::new(py, options, (trainer, crews))?;
    let mut scenario = scenario.scenario.clone();
    let out = options.out.as_deref();
    let studied = call.detached(py, |session, trainer| {
        study.study.check(&scenario)?;
        let setup = setup(&mut scenario, trainer, session)?;
        // Before anything runs: a plan for another fleet must not cost the hours of the other schemes.
        if let Some(place) = study.other_plan(&setup, &scenario)? {
            return Ok(Err(place));
        }
        let studied = study.study.run_in(&setup, &scenario, out, "", session)?;
        // Results are plain data, so they have a text.
        Ok(Ok(studied.map(|studied| serde_json::to_string(&studied.json).unwrap_or_default())))
    })?;
    studied.map_err(refused_plan)
}

/// The path of a key, and its values as people read them and as TOML.
type AxisArgument = (String, Vec<(String, String)>);

/// A comparison at every combination of values; the result as JSON and the number of runs that were retimed and not trained,
/// or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, over, options, study, trainer=None, crews=None))]
fn sweep(
    py: Python<'_>,
    scenario: &PyScenario,
    over: Vec<AxisArgument>,
    options: &Options,
    study: &PyStudy,
    trainer: Option<PyRef<'_, PyTrainer>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<(String, usize)>, Failure> {
    let call = Call::new(py, options, (trainer, crews))?;
    let (plans, study, out) = (study, &study.study, options.out.as_deref());
    let other_plan = Mutex::new(None);
    let axes = |base: &Scenario| over.iter().map(|(path, values)| Axis::of(path, values, base)).collect();
    let here = Arc::clone(&call.point);
    let swept = call.detached(py, |session, trainer| {
        let sweep = Sweep::new((&scenario.source, &scenario.overrides), axes, study)?;
        if let Some(trainer) = &trainer {
            sweep.check(|scenario| check_point(scenario, trainer))?;
        }
        let found = sweep.run(study, out, session, &mut |point, scenario, session| {
            *here.lock().unwrap_or_else(PoisonError::into_inner) = Some(point.to_string());
            let setup = setup(scenario, trainer.clone(), session)?;
            match plans.other_plan(&setup, scenario)? {
                None => Ok(setup),
                place => {
                    *other_plan.lock().unwrap_or_else(PoisonError::into_inner) = place;
                    Err(RunError::Interrupted)
                }
            }
        })?;
        let retimed = session.trainings.as_ref().map_or(0, Trainings::reused);
        // Results are plain data, so they have a text.
        let text = |found: Vec<_>| serde_json::to_string(&sweep.json(&found)).unwrap_or_default();
        Ok(found.map(|found| (text(found), retimed)))
    });
    match other_plan.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(place) => Err(refused_plan(place)),
        None => swept,
    }
}

/// Refuses before the first point what a learner cannot train at a point.
fn check_point(scenario: &Scenario, trainer: &ForeignTrainer) -> Result<(), RunError> {
    Study::check_target(scenario)?;
    scenario.fleet(&trainer.samples)?;
    Ok(scenario.engine_stop().check_metric(&trainer.metrics)?)
}

/// α and β from pilots, as JSON; none if they were interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, trainer=None, crews=None))]
fn pilot(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    trainer: Option<PyRef<'_, PyTrainer>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<String>, Failure> {
    let call = Call::new(py, options, (trainer, crews))?;
    let mut scenario = scenario.scenario.clone();
    let out = options.out.as_deref();
    let piloted = call.detached(py, |session, trainer| {
        let setup = setup(&mut scenario, trainer, session)?;
        let pilots = Pilots { setup: &setup, scenario: &scenario, out, prefix: "", kept: 0, part: None };
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
