//! Wall-clock time. The product takes its time as an argument; a task that reports how long a
//! step took has to read the real one, and does so only here.

use std::time::Instant;

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
