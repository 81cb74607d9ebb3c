//! Scenarios: a text or a file, overrides, and values that a program has in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_fleet::Band;
use fedflip_learn::model_file;
use fedflip_plan::{GivenQ, Schedule, Scheme};
use fedflip_scenario::{GENERATED_FLEET, InMemory, InitialModel, Scenario, Source, key_names};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::fleet::PyFleet;
use crate::learner::{PyTrainer, specs};
use crate::plan::PyPlan;
use crate::scheme::PyScheme;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScenario>()?;
    module.add_function(wrap_pyfunction!(fleet_keys, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_keys, module)?)
}

/// A first model: names and shapes, and all numbers one after the other.
type Tensors<'py> = (Vec<(String, Vec<usize>)>, PyReadonlyArray1<'py, f32>);

/// A scenario with every key decided.
#[pyclass(frozen, name = "Scenario", module = "fedflip._fedflip")]
pub(crate) struct PyScenario {
    pub(crate) scenario: Scenario,
    /// What the scenario was made of: a sweep makes others of it.
    pub(crate) source: Source,
    pub(crate) overrides: Vec<String>,
}

/// The scenario of a file, or of a task if there is no file.
pub(crate) fn source_of(task: &str, path: Option<&Path>) -> Result<Source, Failure> {
    Ok(match path {
        Some(path) => Source::read(path)?,
        None => Source::of_text(&format!("[task]\nname = {task:?}\n"), "the scenario"),
    })
}

#[pymethods]
impl PyScenario {
    /// The scenario of a file, or of a task if there is no file. Values in memory take the place of files and schemes.
    #[staticmethod]
    #[pyo3(signature = (task, path, overrides, fleet=None, plan=None, scheme=None, trainer=None, initial=None))]
    #[expect(clippy::too_many_arguments, reason = "the façade names them")]
    fn resolve(
        task: &str,
        path: Option<PathBuf>,
        mut overrides: Vec<String>,
        fleet: Option<PyRef<'_, PyFleet>>,
        plan: Option<PyRef<'_, PyPlan>>,
        scheme: Option<PyRef<'_, PyScheme>>,
        trainer: Option<PyRef<'_, PyTrainer>>,
        initial: Option<Tensors<'_>>,
    ) -> Result<Self, Failure> {
        let source = source_of(task, path.as_deref())?;
        let mut memory = InMemory::default();
        if let Some(fleet) = fleet {
            memory.fleet = Some(Arc::clone(&fleet.0));
            overrides.push("fleet.file=\"fleet.csv\"".to_owned());
        }
        if let Some(trainer) = trainer {
            // The seed decides the first model later; here its tensors count.
            let zeros = vec![0.0; trainer.0.params_len()];
            let bytes = model_file::write(&trainer.0.params, &zeros)?;
            memory.initial = Some(Arc::new(InitialModel::new(InitialModel::COPY, bytes)));
            overrides.push(format!("task.initial={:?}", InitialModel::COPY));
        }
        if let Some((tensors, numbers)) = initial {
            let numbers = numbers.as_slice().map_err(PyErr::from)?;
            let bytes = model_file::write(&specs(tensors), numbers)?;
            memory.initial = Some(Arc::new(InitialModel::new(InitialModel::COPY, bytes)));
            overrides.push(format!("task.initial={:?}", InitialModel::COPY));
        }
        if let Some(plan) = plan {
            if plan.given {
                memory.scheme = Some(scheme_of(&plan, PLAN_FILE)?);
            }
            overrides.extend(planned_keys(&plan));
        }
        if let Some(scheme) = scheme {
            memory.scheme = Some(scheme.scheme.clone());
            overrides.push(format!("plan.scheme={:?}", scheme.scheme.to_string()));
        }
        let source = source.with_memory(memory);
        Ok(Self { scenario: source.scenario(&overrides)?, source, overrides })
    }

    /// Every key as TOML.
    fn toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// Every key as JSON.
    fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(&self.scenario).map_err(|error| Failure::other(error, ""))
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.scenario.task.name()
    }

    #[getter]
    fn devices(&self) -> usize {
        self.scenario.devices()
    }
}

/// The file that stands for q of the caller's own.
const PLAN_FILE: &str = "plan.csv";

/// q that the caller chose is a scheme of its own, `file=NAME`; other plans are planned again, from the same keys.
pub(crate) fn scheme_of(plan: &PyPlan, file: &str) -> Result<Scheme, Failure> {
    if !plan.given {
        return Ok(plan.planning.scheme.clone());
    }
    let csv = Schedule::new(plan.planned.schedule.usual().clone(), 1).csv(&plan.fleet);
    Ok(Scheme::File(GivenQ::read(csv.as_slice(), file, "the plan")?))
}

/// The keys from which a run plans the same plan.
fn planned_keys(plan: &PyPlan) -> Vec<String> {
    let mut keys = shared_keys(plan);
    if plan.given {
        keys.push(format!("plan.scheme=\"file={PLAN_FILE}\""));
    } else {
        keys.push(format!("plan.scheme={:?}", plan.planning.scheme.to_string()));
        keys.push(format!("plan.variance={:?}", plan.planning.variance));
    }
    keys
}

/// Those of the keys that all schemes of a comparison share.
pub(crate) fn shared_keys(plan: &PyPlan) -> Vec<String> {
    let planning = &plan.planning;
    let mut keys = Vec::new();
    if !plan.given && planning.scheme.needs_variance() {
        keys.push(format!("plan.variance={:?}", planning.variance));
    }
    if plan.are_costs_known {
        match plan.costs.band {
            Band::Linear(bandwidth) => keys.push(format!("fleet.bandwidth_mbps={:?}", bandwidth.get())),
            Band::Shannon(spectrum) => keys.push(format!("fleet.spectrum_mhz={:?}", spectrum.get())),
        }
        keys.push(format!("round.overhead_secs={:?}", plan.costs.overhead_secs));
    }
    if let Some(constants) = planning.constants {
        keys.push(format!("plan.alpha={:?}", constants.alpha()));
        keys.push(format!("plan.beta={:?}", constants.beta()));
    }
    keys
}

/// The paths of the keys that make a fleet, in the place of which a program may give one.
#[pyfunction]
fn fleet_keys() -> Vec<String> {
    GENERATED_FLEET.into_iter().chain(["file"]).map(|name| format!("fleet.{name}")).collect()
}

/// The section, the name and the meaning of every key.
#[pyfunction]
fn scenario_keys() -> Vec<(&'static str, &'static str, &'static str)> {
    key_names().collect()
}
