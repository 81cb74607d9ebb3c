//! A device that has a slot in the fleet.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::warn;

use super::hub::Notice;
use crate::bucket::Bucket;
use crate::coin::CoinPublic;
use crate::state::{Departure, EnrolledDevice};

/// The time from one warning that two agents share an identity to the next.
const RIVAL_REMIND: Duration = Duration::from_secs(600);

pub(crate) struct Member {
    pub device: EnrolledDevice,
    pub coin: CoinPublic,
    pub calls: Bucket,
    pub link: Option<DeviceLink>,
    pub absent_since: Instant,
    pub has_attended: bool,
    pub silence: Silence,
    /// The same for evaluations.
    pub evaluating: Silence,
    pub about: AgentInfo,
    pub condition: Condition,
    /// Set when the device has left the run for good.
    pub departed: Option<Departure>,
    /// The time of the last warning that two agents share this identity.
    rival_told: Option<Instant>,
}

impl Member {
    pub(super) fn new(device: EnrolledDevice, coin: CoinPublic, calls: Bucket, about: AgentInfo) -> Self {
        let EnrolledDevice { compute_secs, comm_mbit, .. } = device;
        Self {
            condition: Condition {
                availability: 1.0,
                compute_secs,
                comm_mbit,
                link_mbps: None,
                is_benched: false,
            },
            about,
            departed: None,
            device,
            coin,
            calls,
            link: None,
            absent_since: Instant::now(),
            has_attended: false,
            silence: Silence::default(),
            evaluating: Silence::default(),
            rival_told: None,
        }
    }

    pub(super) fn disconnect(&mut self) {
        (self.link, self.absent_since) = (None, Instant::now());
    }

    /// Notes that a newer connection replaced the one of this device. A single time means that the first connection
    /// broke unnoticed; two agents that share an identity would replace each other for ever, and must not fill the log.
    pub(super) fn came_twice(&mut self, now: Instant) {
        let is_old = |told: Instant| now.saturating_duration_since(told) > RIVAL_REMIND;
        if self.rival_told.is_none_or(is_old) {
            self.rival_told = Some(now);
            warn!(
                device = %self.device.name,
                "connected again, and its first connection is closed: unless it just lost that connection, two agents have its identity"
            );
        }
    }
}

/// What a device and its connection say of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentInfo {
    /// The version of the agent; empty if it is not known.
    pub version: String,
    /// The last second of the device's certificate.
    pub certificate_until_unix_secs: Option<i64>,
}

/// What rounds have measured of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Condition {
    pub availability: f64,
    pub compute_secs: f64,
    pub comm_mbit: f64,
    /// The limit of the link, if there is one.
    pub link_mbps: Option<f64>,
    pub is_benched: bool,
}

/// Counts windows that a device let pass without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Silence {
    windows: f64,
    /// The last round with an answer, in time or late.
    answered_round: u64,
}

impl Silence {
    /// After this many windows the server still hears a device, but does not wait for it.
    const WINDOWS_MAX: f64 = 3.0;
    /// An answer makes up for this part of a window, so a device that answers every second time is not waited for either.
    const FORGIVEN: f64 = 0.25;

    pub(crate) fn is_waited_for(self) -> bool {
        self.windows < Self::WINDOWS_MAX
    }

    /// Counts an answer, even a late one: otherwise the server would never wait again for a device on a slow link. Each
    /// round counts once.
    pub(crate) fn answered(&mut self, round: u64) {
        if round > self.answered_round {
            self.answered_round = round;
            self.windows = (self.windows - Self::FORGIVEN).max(0.0);
        }
    }

    /// Counts a window that was kept open in vain. The count is bounded, so that a few answers are enough to recover.
    pub(crate) fn missed_a_window(&mut self) {
        self.windows = (self.windows + 1.0).min(Self::WINDOWS_MAX + 1.0);
    }
}

/// The server's end of the stream to a device.
pub(crate) struct DeviceLink {
    pub id: u64,
    pub notices: mpsc::Sender<Notice>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_waited_for_three_times_and_late_answers_are_the_way_back() {
        let mut silence = Silence::default();
        for _ in 0..100 {
            silence.missed_a_window();
        }
        assert!(!silence.is_waited_for());
        let back = (1..100).find(|&round| {
            // Saying it twice is no better.
            silence.answered(round);
            silence.answered(round);
            silence.is_waited_for()
        });
        assert_eq!(back, Some(5));
        // One window in two: the device is not waited for after a few rounds, and stays so.
        let mut alternates = Silence::default();
        let waited = (0..200_u64).filter(|round| {
            let waited = alternates.is_waited_for();
            if round % 2 == 0 {
                alternates.answered(*round + 1);
            } else if waited {
                alternates.missed_a_window();
            }
            waited && round % 2 == 1
        });
        assert!(waited.count() < 40);
    }
}
