//! The clock of a run.

use tokio::time::Instant;

/// Time since the run began, over restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// None while the clock stands still.
    started: Option<Instant>,
    secs_before: f64,
}

impl Clock {
    pub(crate) fn at(secs_before: f64) -> Self {
        Self { started: Some(Instant::now()), secs_before }
    }

    /// A clock that stands still until it is started.
    pub(crate) fn paused_at(secs_before: f64) -> Self {
        Self { started: None, secs_before }
    }

    /// A clock that runs already is left alone.
    pub(crate) fn start(&mut self) {
        self.started.get_or_insert_with(Instant::now);
    }

    pub(crate) fn secs(&self) -> f64 {
        self.secs_before + self.started.map_or(0.0, |started| started.elapsed().as_secs_f64())
    }
}
