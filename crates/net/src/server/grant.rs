//! The bandwidth and the time that a device was granted for its update.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    pub mbps: f64,
    /// The wait between grant and upload: until then other devices use the bandwidth.
    pub upload_from_secs: f64,
    /// The division of the bandwidth leaves the device too little time, although it would meet the deadline alone.
    pub is_crowded_out: bool,
    pub at: Instant,
    pub deadline: Instant,
}

impl Granted {
    /// The lead that a device may have over its grant: timers are coarse, and packets arrive in bursts.
    const AHEAD_SECS: f64 = 0.25;

    /// The time from which an upload that began at `first` may be read beyond its first `bytes` bytes.
    pub(crate) fn earliest(&self, bytes: usize, first: Instant) -> Instant {
        let after = |secs: f64| {
            // Without a rate, or with a wait beyond all bounds, the deadline comes first.
            Duration::try_from_secs_f64(secs.max(0.0)).unwrap_or(Duration::from_secs(86_400))
        };
        let begin = first.max(self.at + after(self.upload_from_secs - Self::AHEAD_SECS));
        begin + after(8e-6 * bytes as f64 / self.mbps - Self::AHEAD_SECS)
    }
}
