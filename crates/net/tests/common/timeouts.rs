//! Waiting for other threads and processes, not for ever.

use std::time::Duration;

/// Looks again and again; whether it held in time.
#[expect(clippy::disallowed_methods, reason = "a test waits for other threads and processes")]
pub(crate) fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let until = std::time::Instant::now() + limit;
    loop {
        if holds() {
            return true;
        }
        if std::time::Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
