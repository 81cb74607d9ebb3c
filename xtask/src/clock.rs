//! Wall-clock time. The product takes its time as an argument; a task that reports how long a
//! step took has to read the real one, and does so only here.

use std::thread;
use std::time::{Duration, Instant};

/// Measures from its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a task reports real seconds to a person")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn secs(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Gives the processor away for a moment, between two looks at a running child.
#[expect(clippy::disallowed_methods, reason = "a child process can only be polled in real time")]
pub(crate) fn pause(duration: Duration) {
    thread::sleep(duration);
}
