//! Errors of the crates as exceptions with place, value and remedy.

use std::fmt::Display;

use fedflip_engine::EngineError;
use fedflip_fleet::FleetError;
use fedflip_learn::LearnError;
use fedflip_learn::task::TaskError;
use fedflip_net::NetError;
use fedflip_plan::PlanError;
use fedflip_record::{FolderProblem, RecordError};
use fedflip_run::RunError;
use fedflip_run::sweep::IdleAxis;
use fedflip_scenario::{KeyError, Place, ScenarioError};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{fleet, plan, tasks};

/// An error on its way to Python. `?` makes one from every error of the crates.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    /// A sentence that names the place and the value.
    problem: String,
    place: String,
    value: Option<Py<PyAny>>,
    remedy: String,
    /// An exception that passes as it is.
    raised: Option<PyErr>,
}

impl Failure {
    /// An input that cannot be used: an exception `InputError`.
    pub(crate) fn input(problem: impl Display, remedy: impl Display) -> Self {
        Self::new("InputError", problem, remedy)
    }

    /// Anything else: an exception `FedflipError`.
    pub(crate) fn other(problem: impl Display, remedy: impl Display) -> Self {
        Self::new("FedflipError", problem, remedy)
    }

    fn new(class: &'static str, problem: impl Display, remedy: impl Display) -> Self {
        let (problem, remedy) = (problem.to_string(), remedy.to_string());
        Self { class, problem, place: String::new(), value: None, remedy, raised: None }
    }

    /// The argument, the key, or the file and line, for programs.
    pub(crate) fn at(self, place: impl Display) -> Self {
        Self { place: place.to_string(), ..self }
    }

    /// The value that cannot be used, for programs.
    pub(crate) fn of<'py>(self, py: Python<'py>, value: impl IntoPyObjectExt<'py>) -> Self {
        Self { value: value.into_py_any(py).ok(), ..self }
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        let exception = || -> PyResult<PyErr> {
            let named = PyDict::new(py);
            if self.class == "InputError" {
                named.set_item("where", &self.place)?;
                named.set_item("value", &self.value)?;
            }
            named.set_item("remedy", &self.remedy)?;
            let class = py.import("fedflip._errors")?.getattr(self.class)?;
            Ok(PyErr::from_value(class.call((&self.problem,), Some(&named))?))
        };
        exception().unwrap_or_else(|error| error)
    }
}

impl From<Failure> for PyErr {
    fn from(mut failure: Failure) -> Self {
        match failure.raised.take() {
            Some(raised) => raised,
            None => Python::attach(|py| failure.raise(py)),
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self { raised: Some(error), ..Self::other("", "") }
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        Python::attach(|py| fleet::refused(py, &error))
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Python::attach(|py| plan::refused(py, &error))
    }
}

impl From<ScenarioError> for Failure {
    /// That a key was an override or an axis is of no use to callers of Python.
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Key(KeyError { place, key, problem, hint }) => {
                let (shown, whole) = match &place {
                    Place::Override => (problem, String::new()),
                    Place::Axis => (problem, "over".to_owned()),
                    Place::File { .. } => (format!("{place}: {problem}"), place.to_string()),
                };
                Self::input(shown, hint).at(if key.is_empty() { whole } else { key })
            }
            ScenarioError::OutOfRange { key, value, .. } => {
                Python::attach(|py| Self::input(&error, error.hint()).at(key).of(py, value))
            }
            ScenarioError::Fleet(error) => error.into(),
            ScenarioError::Plan(error) => error.into(),
            error => Self::input(&error, error.hint()),
        }
    }
}

impl From<TaskError> for Failure {
    fn from(error: TaskError) -> Self {
        Python::attach(|py| tasks::refused_task(py, &error))
    }
}

impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        Self::other(&error, error.hint())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match &error {
            RecordError::Folder { folder, problem } => {
                let hint = match problem {
                    FolderProblem::Occupied => "add resume=True to continue it, or give another folder",
                    _ => error.hint(),
                };
                let input = Self::input(&error, hint).at("out");
                Python::attach(|py| input.of(py, folder))
            }
            error => Self::other(error, error.hint()),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Learn(error) => error.into(),
            EngineError::NoSuchMetric { .. } => Self::input(&error, error.hint()).at("stop"),
            error => Self::other(&error, error.hint()),
        }
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Self {
        Self::other(&error, error.hint())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => error.into(),
            RunError::Task(error) => error.into(),
            RunError::Fleet(error) => error.into(),
            RunError::Plan(error) => error.into(),
            RunError::Learn(error) => error.into(),
            RunError::Record(error) => error.into(),
            RunError::Engine(error) => error.into(),
            RunError::Net(error) => error.into(),
            RunError::Interrupted => Self::other(&error, error.hint()),
            RunError::IdleAxis(error) => Self::input(error, idle_axis_remedy(error)).at("over"),
            RunError::AtPoint { point, error } => {
                let inner = Self::from(*error);
                let place = if inner.place.is_empty() { "over".to_owned() } else { inner.place };
                Self { problem: format!("{point}: {}", inner.problem), place, ..inner }
            }
            RunError::NoTarget => Self::input(&error, "give stop=Stop(metric, at=value)").at("stop"),
            error => Self::input(&error, error.hint()),
        }
    }
}

fn idle_axis_remedy(error: IdleAxis) -> &'static str {
    match error {
        IdleAxis::Seed => "give the number of seeds with seeds=, and the first one with seed=",
        IdleAxis::Scheme => "name the schemes with schemes=",
        IdleAxis::Constants => "write pilots=False to plan with the values that are given",
        IdleAxis::Variance => "name \"auto\" in schemes=",
        IdleAxis::All => error.hint(),
    }
}

/// An exception of a learner's code as an error of the crates.
pub(crate) fn foreign(py: Python<'_>, error: &PyErr) -> LearnError {
    // The text of an exception of fedflip may have a traceback in it, which is no line of a log.
    let message = text_of(py, error, "problem").unwrap_or_else(|| error.to_string());
    LearnError::Foreign { message, trace: text_of(py, error, "traceback").unwrap_or_default() }
}

/// The exception of a model that diverged as an error of the crates; none of any other exception.
pub(crate) fn diverged(py: Python<'_>, error: &PyErr) -> Option<LearnError> {
    let class = py.import("fedflip._learner_checks").and_then(|module| module.getattr("DivergedError"));
    let is_diverged = class.and_then(|class| error.value(py).is_instance(&class)).unwrap_or(false);
    let native = error.value(py).getattr("native").ok().and_then(|native| native_error(&native));
    let what = || text_of(py, error, "what").unwrap_or_else(|| "model".to_owned()).into();
    native.or_else(|| is_diverged.then(|| LearnError::NotFinite { what: what(), value: f64::NAN }))
}

fn text_of(py: Python<'_>, error: &PyErr, name: &str) -> Option<String> {
    error.value(py).getattr(name).and_then(|text| text.extract()).ok()
}

/// What an error of the native kernels is about, in words that outlive the way to another process and back.
type NativeError = (usize, usize, String, f64);

/// An error of the native kernels as the exception that crews raise. It keeps what [`diverged`] needs to make the same error.
pub(crate) fn raised(py: Python<'_>, error: &LearnError, device: Option<usize>, round: Option<u64>) -> PyErr {
    let exception = || -> PyResult<PyErr> {
        let named = PyDict::new(py);
        named.set_item("device", device)?;
        named.set_item("round", round)?;
        named.set_item("remedy", error.hint())?;
        let (module, class) = match error {
            LearnError::Diverged { .. } | LearnError::NotFinite { .. } => {
                ("fedflip._learner_checks", "DivergedError")
            }
            _ => ("fedflip._errors", "LearnerError"),
        };
        let value = py.import(module)?.getattr(class)?.call((error.to_string(),), Some(&named))?;
        if let LearnError::Diverged { device, iteration, what, value: number } = error {
            let native: NativeError = (*device, *iteration, (*what).to_owned(), *number);
            value.setattr("native", native)?;
        }
        Ok(PyErr::from_value(value))
    };
    exception().unwrap_or_else(|error| error)
}

fn native_error(native: &Bound<'_, PyAny>) -> Option<LearnError> {
    let (device, iteration, what, value): NativeError = native.extract().ok()?;
    let what = ["the loss", "the model"].into_iter().find(|known| *known == what)?;
    Some(LearnError::Diverged { device, iteration, what, value })
}
