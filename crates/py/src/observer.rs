//! A Python object that watches runs: progress bars, callbacks and logs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fedflip_record::{End, Initial, RecordError, Round};
use fedflip_run::{Observer, RunInfo};
use pyo3::prelude::*;
use serde::Serialize;

use crate::signals::{Signals, now};

/// The time between two rounds that a progress bar sees.
const SHOW_EVERY: Duration = Duration::from_millis(100);

/// Calls a Python object with JSON, which the façade turns into records.
pub(crate) struct PyObserver {
    object: Py<PyAny>,
    signals: Arc<Signals>,
    /// Whether it sees every round, and not just one now and then.
    sees_all: bool,
    shown: Option<Instant>,
    /// The last round, if nobody has seen it.
    unseen: Option<Round>,
}

impl PyObserver {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>, signals: Arc<Signals>) -> PyResult<Self> {
        let sees_all = object.bind(py).getattr("sees_all")?.extract()?;
        Ok(Self { object, signals, sees_all, shown: None, unseen: None })
    }

    fn call(&self, method: &str, words: &[&str]) {
        Python::attach(|py| {
            let words: PyResult<_> = pyo3::types::PyTuple::new(py, words);
            let answer = words.and_then(|words| self.object.bind(py).call_method1(method, words));
            match answer.and_then(|answer| answer.is_truthy()) {
                Ok(true) => self.signals.stop(),
                Ok(false) => {}
                Err(error) => self.signals.raise(error),
            }
        });
    }
}

/// Records are written as JSON elsewhere, so they always have one.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Observer for PyObserver {
    fn begin(&mut self, run: &RunInfo<'_>) -> Result<(), RecordError> {
        self.shown = None;
        self.call("begin", &[run.title, &json(run.header)]);
        Ok(())
    }

    fn wants_history(&self) -> bool {
        false
    }

    fn may_end_runs(&self) -> bool {
        self.sees_all
    }

    fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        self.call("initial", &[&json(initial)]);
        Ok(())
    }

    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        let moment = now();
        if self.sees_all || self.shown.is_none_or(|shown| moment - shown >= SHOW_EVERY) {
            self.shown = Some(moment);
            self.unseen = None;
            self.call("round", &[&json(round)]);
        } else if !round.metrics.is_empty() {
            self.unseen = Some(round.clone());
        }
        Ok(())
    }

    fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        if let Some(last) = self.unseen.take() {
            self.call("round", &[&json(&last)]);
        }
        self.call("end", &[&end.map_or_else(String::new, json)]);
        Ok(())
    }

    fn working(&mut self, what: &str) {
        self.call("working", &[what]);
    }

    fn warn(&mut self, text: &str) {
        self.call("warn", &[text]);
    }
}
