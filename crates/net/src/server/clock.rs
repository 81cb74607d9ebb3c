//! The clock of a run.

use tokio::time::Instant;

/// Time since the run began, over restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
    secs_before: f64,
}

impl Clock {
    pub(crate) fn after(secs_before: f64) -> Self {
        Self { started: Instant::now(), secs_before }
    }

    pub(crate) fn secs(&self) -> f64 {
        self.secs_before + self.started.elapsed().as_secs_f64()
    }
}
