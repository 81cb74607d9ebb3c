//! How long a server waits for what.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    /// Coins must be in after this, even if somebody who was asked has not answered.
    pub window: Duration,
    /// Share of the fleet that must be there for a round to be opened.
    pub quorum: f64,
    /// A server that has just started waits so long for all of them.
    pub muster: Duration,
    /// Without a deadline of the scenario: so many times what the round should take …
    pub deadline_factor: f64,
    /// … and this on top …
    pub deadline_slack: Duration,
    /// … but never more than this, whatever a device says of itself.
    pub deadline_max: Duration,
    /// Whoever takes part and leaves must be back after this.
    pub come_back: Duration,
    /// A server that is told to stop lets the round in progress go on for so long.
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
    /// When a round that should take so long is over for those who have not reported.
    pub(super) fn deadline_secs(&self, expected_secs: f64) -> f64 {
        let secs = self.deadline_factor * expected_secs + self.deadline_slack.as_secs_f64();
        secs.min(self.deadline_max.as_secs_f64())
    }
}
