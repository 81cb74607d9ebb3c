//! The bandwidth and the time that a device was granted for its update.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub mbps: f64,
    /// From the grant on: until then the bandwidth is others'.
    pub upload_from_secs: f64,
    /// The server's own division leaves the device no time before the deadline, though alone it would make it.
    pub is_crowded_out: bool,
    pub at: Instant,
    pub deadline: Instant,
}

impl Granted {
    /// How far ahead of its grant a device may be: timers are coarse, and networks bring packets in bursts.
    const AHEAD_SECS: f64 = 0.25;

    /// When an upload that began at `first` may be read beyond its first `bytes` bytes.
    pub(crate) fn earliest(&self, bytes: usize, first: Instant) -> Instant {
        let after = |secs: f64| {
            // Without a rate, or beyond all time, the deadline comes first.
            Duration::try_from_secs_f64(secs.max(0.0)).unwrap_or(Duration::from_secs(86_400))
        };
        let begin = first.max(self.at + after(self.upload_from_secs - Self::AHEAD_SECS));
        begin + after(8e-6 * bytes as f64 / self.mbps - Self::AHEAD_SECS)
    }
}
