//! What Python code raises while the interpreter is released: Ctrl-C, and exceptions of callbacks, learners and schemes.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fedflip_learn::LearnError;
use pyo3::prelude::*;

use crate::error::{diverged, foreign};

/// The time between two looks at signals, at the log, and at the event that stops the work: each needs the interpreter.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The wish to end a run or the part of a device in one, and the exception that the caller gets then. Everything of one call
/// shares it.
#[derive(Default)]
pub(crate) struct Signals {
    raised: Mutex<Option<PyErr>>,
    stop: AtomicBool,
}

impl Signals {
    /// Ends the work soon: a run after its round.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the work soon, and raises the exception then. The first one counts.
    pub(crate) fn raise(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// An exception of a learner's code as an error of the crates. It ends the work, unless it tells that a model diverged:
    /// that is a result, and not a mistake.
    pub(crate) fn raise_of_learner(&self, py: Python<'_>, error: PyErr) -> LearnError {
        diverged(py, &error).unwrap_or_else(|| {
            let learn_error = foreign(py, &error);
            self.raise(error);
            learn_error
        })
    }

    /// Whether the work is to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the work is to end; looks for Ctrl-C now and then.
    pub(crate) fn stops(&self, last_look: &Cell<Instant>) -> bool {
        let now = now();
        if now - last_look.get() >= LOOK_EVERY {
            last_look.set(now);
            if let Err(error) = look() {
                self.raise(error);
            }
        }
        self.is_ending()
    }
}

#[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is not general enough")]
fn look() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

/// The clock on the wall.
#[expect(clippy::disallowed_methods, reason = "people wait for progress and Ctrl-C by the clock on the wall")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
