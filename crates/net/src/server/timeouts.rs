//! The times that a server waits.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    /// The window for coins ends after this time, even if an awaited device has not answered.
    pub window: Duration,
    /// The share of the fleet that must attend before a round opens.
    pub quorum: f64,
    /// Agents have this long to connect again after a restart of the server, before benched devices take the place of absent
    /// ones. Rounds begin sooner if the quorum attends.
    pub muster: Duration,
    /// An automatic deadline is this many times the expected length of the round …
    pub deadline_factor: f64,
    /// … plus this constant time …
    pub deadline_slack: Duration,
    /// … and at most this long, whatever a device claims.
    pub deadline_max: Duration,
    /// A device that takes part and leaves must be back within this time.
    pub come_back: Duration,
    /// A server that should stop continues the round in progress for this long.
    pub finish: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(5),
            quorum: 0.5,
            muster: Duration::from_secs(10),
            deadline_factor: 3.0,
            deadline_slack: Duration::from_secs(10),
            deadline_max: Duration::from_secs(3600),
            come_back: Duration::from_secs(5),
            finish: Duration::from_secs(20),
        }
    }
}

impl Timeouts {
    /// The automatic deadline of a round of this expected length.
    pub(super) fn deadline_secs(&self, expected_secs: f64) -> f64 {
        let secs = self.deadline_factor * expected_secs + self.deadline_slack.as_secs_f64();
        secs.min(self.deadline_max.as_secs_f64())
    }
}
