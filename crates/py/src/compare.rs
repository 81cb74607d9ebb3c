//! Comparisons: every scheme with every seed, under equal settings.

use std::path::Path;
use std::sync::Arc;

use fedflip_plan::Scheme;
use fedflip_run::RunError;
use fedflip_run::study::Study;
use fedflip_scenario::read_scheme;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::learner::PyTrainer;
use crate::plan::{PyPlan, refused};
use crate::scenario::{PyScenario, scheme_of};
use crate::scheme::{PySampling, PyScheme};
use crate::simulate::{Call, Expected, Options, setup};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compare, module)?)
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

    fn sampling(&self) -> Option<Arc<PySampling>> {
        match self {
            Self::Custom(scheme) => Some(Arc::clone(&scheme.sampling)),
            Self::Name(_) | Self::Plan(..) => None,
        }
    }

    fn expected(&self) -> Option<Expected> {
        match self {
            Self::Plan(plan, _) => Some(Expected::of(plan)),
            Self::Name(_) | Self::Custom(_) => None,
        }
    }
}

/// Every scheme with every seed; the result as JSON, or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, schemes, reference, seeds, give_up=None, pilots=true, trainer=None))]
#[expect(clippy::too_many_arguments, reason = "the façade names them")]
fn compare(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    schemes: Vec<SchemeArgument<'_>>,
    reference: SchemeArgument<'_>,
    seeds: u64,
    give_up: Option<f64>,
    pilots: bool,
    trainer: Option<PyRef<'_, PyTrainer>>,
) -> Result<Option<String>, Failure> {
    let samplings = schemes.iter().filter_map(SchemeArgument::sampling).collect();
    let expected: Vec<Option<Expected>> = schemes.iter().map(SchemeArgument::expected).collect();
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
    let study = Study { schemes, reference, seeds, give_up, no_pilot: !pilots };
    let call = Call::new(py, options, trainer, samplings)?;
    let mut scenario = scenario.0.clone();
    let out = options.out.as_deref();
    let studied = call.detached(py, |session, trainer| {
        study.check(&scenario)?;
        let setup = setup(&mut scenario, trainer, session)?;
        // Before anything runs: a plan for another fleet must not cost the hours of the other schemes.
        for (place, (scheme, expected)) in study.schemes.iter().zip(&expected).enumerate() {
            let Some(expected) = expected else { continue };
            let mut scenario = scenario.clone();
            scenario.plan.scheme = scheme.clone();
            match setup.plan(&scenario, Some(scenario.plan.constants)) {
                Ok(planned) if expected.is_met(&planned, &scenario) => {}
                // The probabilities of a plan for other devices cannot be used here.
                Ok(_) | Err(RunError::Plan(_)) => return Ok(Err(place)),
                Err(error) => return Err(error),
            }
        }
        let studied = study.run_in(&setup, &scenario, out, "", session)?;
        // Results are plain data, so they have a text.
        Ok(Ok(studied.map(|studied| serde_json::to_string(&studied.json).unwrap_or_default())))
    })?;
    studied.map_err(|place| Expected::refused(&format!("schemes[{place}]")))
}
