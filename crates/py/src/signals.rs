//! What Python code raises while the interpreter is released: Ctrl-C, and exceptions of callbacks, learners and schemes.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The time between two looks at signals: each needs the interpreter.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The exception that ends a run, and the wish to end it. Everything of one run shares it.
#[derive(Default)]
pub(crate) struct Signals {
    raised: Mutex<Option<PyErr>>,
    stop: AtomicBool,
}

impl Signals {
    /// Ends the run after its round.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the run after its round, and raises the exception then. The first one counts.
    pub(crate) fn raise(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the run is to end; looks for Ctrl-C now and then.
    pub(crate) fn stops(&self, last_look: &Cell<Instant>) -> bool {
        let now = now();
        if now - last_look.get() >= LOOK_EVERY {
            last_look.set(now);
            if let Err(error) = look() {
                self.raise(error);
            }
        }
        self.stop.load(Ordering::Relaxed)
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
