//! A device that has a place in the fleet.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::warn;

use super::hub::Notice;
use crate::bucket::Bucket;
use crate::coin::CoinPublic;
use crate::identity::DeviceName;

/// How often the log says that two agents have one identity.
const RIVAL_REMIND: Duration = Duration::from_secs(600);

/// A device that has enrolled.
pub(crate) struct Member {
    pub name: DeviceName,
    pub coin: CoinPublic,
    pub calls: Bucket,
    pub enrolment: Enrolment,
    pub line: Option<Line>,
    /// Since when it has not attended.
    pub absent_since: Instant,
    /// Since the server started.
    pub has_attended: bool,
    /// When the log last said that somebody else has its identity.
    rival_told: Option<Instant>,
}

impl Member {
    pub(super) fn new(name: DeviceName, coin: CoinPublic, calls: Bucket, enrolment: Enrolment) -> Self {
        let absent_since = Instant::now();
        Self { name, coin, calls, enrolment, line: None, absent_since, has_attended: false, rival_told: None }
    }

    /// A line is cut for a newer one. Once is a device whose first line broke unnoticed; two agents that share an
    /// identity would do it for ever, and must not fill the log.
    pub(super) fn came_twice(&mut self, now: Instant) {
        let is_old = |told: Instant| now.saturating_duration_since(told) > RIVAL_REMIND;
        if self.rival_told.is_none_or(is_old) {
            self.rival_told = Some(now);
            warn!(
                device = %self.name,
                "attends over a second line, and the first is cut: if its line did not just break, two agents have its identity"
            );
        }
    }
}

/// What a device says of itself, and what was measured of it when it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Enrolment {
    pub samples: u64,
    pub compute_secs: f64,
    pub comm_mbit: f64,
}

/// The open end of a device's stream.
pub(crate) struct Line {
    pub id: u64,
    pub notices: mpsc::Sender<Notice>,
}
