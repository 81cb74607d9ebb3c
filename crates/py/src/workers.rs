//! The workers of a run that are one Python object: calls of its methods, and what they raise.

use std::path::Path;

use fedflip_learn::LearnError;
use fedflip_run::trainer::{WholeRun, WorkersNote};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::signals::Signals;

/// A Python object with the methods of `fedflip.Crew`, as runs ask it for updates.
pub(crate) struct Workers {
    pub(crate) crew: Py<PyAny>,
    /// The class of keys.
    pub(crate) key: Py<PyAny>,
    pub(crate) signals: Signals,
}

impl Workers {
    pub(crate) fn new(py: Python<'_>, crew: Py<PyAny>) -> PyResult<Self> {
        let key = py.import("fedflip._key")?.getattr("TrainKey")?.unbind();
        Ok(Self { crew, key, signals: Signals::default() })
    }

    /// What the crew says of its workers, if it says anything.
    pub(crate) fn note(&self) -> Option<WorkersNote> {
        Python::attach(|py| {
            let note = self.crew.bind(py).call_method0("note").ok()?;
            let (crew, joined, mixed) = note.extract().ok()?;
            Some(WorkersNote { crew, joined, mixed })
        })
    }

    /// How many whole runs the crew does at the same time: one of threads or processes does none.
    pub(crate) fn runs_at_once(&self) -> usize {
        Python::attach(|py| {
            let count = self.crew.bind(py).getattr("runs_at_once");
            count.and_then(|count| count.extract()).unwrap_or(0)
        })
    }

    /// Lets the crew do whole runs. It gives control back about once a second.
    pub(crate) fn whole_runs<'r>(
        &self,
        runs: &'r [WholeRun],
        stop: &dyn Fn() -> bool,
    ) -> Result<(), LearnError> {
        Python::attach(|py| {
            let parts = |run: &'r WholeRun| (&*run.text, run.fleet.as_deref(), &*run.folder);
            let runs: Vec<(&str, Option<&[u8]>, &Path)> = runs.iter().map(parts).collect();
            let done = || -> PyResult<()> {
                let steps = self.call(py, "whole_runs", (runs,))?;
                for step in steps.try_iter()? {
                    step?;
                    if stop() {
                        break;
                    }
                }
                Ok(())
            };
            done().map_err(|error| self.failed(py, error))
        })
    }

    /// Calls a method of the crew.
    pub(crate) fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        arguments: impl PyCallArgs<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.crew.bind(py).call_method1(method, arguments);
        answer.map_err(|error| self.named(py, method, error))
    }

    /// The exception of a method as people see it. Crews of fedflip raise its own exceptions, which say what to do; those of a crew
    /// of somebody else become the cause of one that names the method.
    pub(crate) fn named(&self, py: Python<'_>, method: &str, error: PyErr) -> PyErr {
        let class = py.import("fedflip._errors").and_then(|module| module.getattr("FedflipError"));
        let is_ours = class.and_then(|class| error.value(py).is_instance(&class)).unwrap_or(true);
        // Ctrl-C is no exception in this sense.
        if is_ours || !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let problem = format!("{method}() of the crew {} failed: {error}", self.kind(py));
        let named = PyErr::from(Failure::other(problem, "correct the crew, then resume the run"));
        named.set_cause(py, Some(error));
        named
    }

    /// The error about an answer that is not what it has to be.
    pub(crate) fn unusable(
        &self,
        py: Python<'_>,
        method: &str,
        answer: &Bound<'_, PyAny>,
        wanted: &str,
    ) -> PyErr {
        let answer = answer.get_type().name().map_or_else(|_| "…".to_owned(), |name| name.to_string());
        let kind = self.kind(py);
        Failure::other(
            format!(
                "{method}() of the crew {kind} returned an object of the class {answer} that is not {wanted}"
            ),
            format!("return {wanted}"),
        )
        .into()
    }

    /// The name of the crew's class.
    fn kind(&self, py: Python<'_>) -> String {
        self.crew.bind(py).get_type().name().map_or_else(|_| "…".to_owned(), |name| name.to_string())
    }

    /// An exception as an error of the crates. What is not an error of the learner, such as Ctrl-C, ends the run.
    pub(crate) fn failed(&self, py: Python<'_>, error: PyErr) -> LearnError {
        self.signals.raise_of_learner(py, error)
    }
}
