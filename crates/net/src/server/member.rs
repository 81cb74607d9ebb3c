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
    pub silence: Silence,
    /// When the log last said that somebody else has its identity.
    rival_told: Option<Instant>,
}

impl Member {
    pub(super) fn new(name: DeviceName, coin: CoinPublic, calls: Bucket, enrolment: Enrolment) -> Self {
        let absent_since = Instant::now();
        let silence = Silence::default();
        Self {
            name,
            coin,
            calls,
            enrolment,
            line: None,
            absent_since,
            has_attended: false,
            silence,
            rival_told: None,
        }
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

/// How often an attending device has let a whole window pass without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Silence(f64);

impl Silence {
    /// Whole windows, after which a device is heard but no longer waited for.
    const WINDOWS_MAX: f64 = 3.0;
    /// What an answer in time makes up for: a device that answers every second time is not waited for either.
    const FORGIVEN: f64 = 0.25;

    pub(crate) fn is_waited_for(self) -> bool {
        self.0 < Self::WINDOWS_MAX
    }

    pub(crate) fn answered(&mut self) {
        self.0 = (self.0 - Self::FORGIVEN).max(0.0);
    }

    /// A whole window passed; more than a few count as a few, so that the way back is short.
    pub(crate) fn missed_a_window(&mut self) {
        self.0 = (self.0 + 1.0).min(Self::WINDOWS_MAX + 1.0);
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
