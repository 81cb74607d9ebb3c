//! Wall-clock time. A measurement has to read the real clock, and does so only here.

use std::thread;
use std::time::{Duration, Instant};

/// Measures from its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a measurement reports real seconds")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn secs(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

#[expect(clippy::disallowed_methods, reason = "a child process can only be polled in real time")]
pub(crate) fn pause(duration: Duration) {
    thread::sleep(duration);
}
