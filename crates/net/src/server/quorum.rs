//! Waits for enough devices, and gives up devices that have left.

use std::time::Duration;

use fedflip_engine::EngineError;
use tokio::time::Instant;
use tracing::info;

use super::Server;
use super::hub::ServerState;
use super::round::Taken;
use super::world::{GivenUp, NetWorld};
use crate::reason::Reason;
use crate::status::Readiness;

/// A wait is interrupted this often to look for changes.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(100);
/// The log repeats this often that the server waits.
const REMIND: Duration = Duration::from_secs(15);

pub(super) enum Quorum {
    Reached,
    Missing {
        there: usize,
        wanted: usize,
    },
    /// The wait is not needed any more.
    Cancelled,
}

/// Calls `look` at every bell and now and then, until there are enough devices; returns false if the wait was cancelled.
/// The log says what the server waits for when that changes, and now and then.
pub(super) fn gather<E>(
    server: &Server,
    waiting: &str,
    mut look: impl FnMut() -> Result<Quorum, E>,
) -> Result<bool, E> {
    let mut told: Option<([usize; 2], Instant)> = None;
    loop {
        match look()? {
            Quorum::Reached => return Ok(true),
            Quorum::Cancelled => return Ok(false),
            Quorum::Missing { there, wanted } => {
                let now = [there, wanted];
                if told.is_none_or(|(before, at)| before != now || at.elapsed() > REMIND) {
                    told = Some((now, Instant::now()));
                    info!(there, wanted, "{waiting}");
                }
            }
        }
        server.wait(Instant::now() + POLL_EVERY);
    }
}

impl NetWorld<'_> {
    /// Waits until enough devices attend.
    pub(super) fn gather(&mut self) -> Result<(), EngineError> {
        let planned = self.planned;
        let is_expected = {
            let state = self.server.hub.state();
            // The plan may still contain a device that has left, where the planner found no plan without it.
            let stays = |slot: usize| !state.standing(slot, false).has_left();
            let slots = 0..planned.fleet.len();
            slots.map(|slot| planned.takes_part(slot) && stays(slot)).collect::<Vec<bool>>()
        };
        let is_expected = |slot: usize| is_expected.get(slot).copied().unwrap_or(false);
        let devices = (0..planned.fleet.len()).filter(|&slot| is_expected(slot)).count();
        let quorum =
            ((self.deployment.timeouts.quorum * devices as f64).ceil() as usize).clamp(1, devices.max(1));
        let server = self.server;
        let recall_at = self.muster_until.max(Instant::now() + self.deployment.timeouts.come_back);
        let look = || -> Result<Quorum, EngineError> {
            let there = {
                let state = self.server.hub.state();
                self.server.hub.metrics.devices_attending.set(state.attending() as f64);
                let members = state.members.iter().enumerate();
                members.filter(|(slot, member)| is_expected(*slot) && member.link.is_some()).count()
            };
            if there >= quorum {
                self.server.health.set(Readiness::InRounds);
                return Ok(Quorum::Reached);
            }
            self.server.health.set(Readiness::WaitingForDevices);
            self.check_stop(Duration::ZERO)?;
            self.server.write_device_status(&self.folder);
            if self.server.look_for_departures(&self.folder) {
                return Err(GivenUp::Departed.into());
            }
            if Instant::now() >= recall_at {
                self.recall()?;
            }
            Ok(Quorum::Missing { there, wanted: quorum })
        };
        gather(server, "waiting for devices", look).map(|_| ())
    }

    /// Devices are benched for the sake of the others. When too few others attend, benched devices that attend are asked
    /// again: the rounds under this plan end, and the next plan includes them.
    fn recall(&mut self) -> Result<(), EngineError> {
        let state = self.server.hub.state();
        let attending = state.members.iter().enumerate().filter(|(_, member)| member.link.is_some());
        let recalled = attending.filter(|(slot, _)| self.measures.recall(*slot)).count();
        if recalled == 0 {
            return Ok(());
        }
        info!(devices = recalled, "too few other devices are connected: benched devices are asked again");
        Err(GivenUp::Recalled.into())
    }

    /// Gives up a device that took part, left and has not come back.
    pub(super) fn missing(&self, state: &mut ServerState, now: Instant) -> Option<usize> {
        let ServerState { current: Some(current), members, .. } = state else { return None };
        let missing = current.joined().iter().find_map(|(&slot, joined)| {
            let member = &members[slot];
            let gone = joined.taken.is_none()
                && member.link.is_none()
                && now.saturating_duration_since(member.absent_since) > self.deployment.timeouts.come_back;
            gone.then_some(slot)
        })?;
        current.take(missing, Taken::Refused(Reason::Disconnected));
        Some(missing)
    }
}
