//! The events of a round that the engine waits for: updates, refusals, devices that leave, the deadline.

use fedflip_engine::{Event, Update as EngineUpdate};
use tokio::time::Instant;
use tracing::warn;

use super::exchange::Arrival;
use super::grant::Granted;
use super::quorum::POLL_EVERY;
use super::round::Current;
use super::world::NetWorld;
use crate::measure::Outcome as Seen;
use crate::reason::Reason;

impl NetWorld<'_> {
    /// The next event of the round, if there is one by now.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert(now);
        let server = self.server;
        let mut state = server.hub.state();
        if let Some(arrival) = state.arrived.pop_front() {
            drop(state);
            return Some(self.event(arrival));
        }
        if let Some(device) = self.missing(&mut state, now) {
            drop(state);
            self.lost(device, Reason::Disconnected);
            return Some(Event::Lost { device, reason: Reason::Disconnected.name() });
        }
        if now < deadline {
            return None;
        }
        if now >= deadline + POLL_EVERY && !self.was_late {
            // The server itself was suspended: messages that arrived meanwhile are still to be read.
            (self.was_late, self.deadline) = (true, Some(now + POLL_EVERY));
            return None;
        }
        // Under the same lock: devices that report from now on are told that they are too late.
        let late = state.current.as_mut().map(Current::close_for_good).unwrap_or_default();
        drop(state);
        late.into_iter().for_each(|slot| self.lost(slot, Reason::Deadline));
        Some(Event::Deadline)
    }

    /// Notes that a device that took part will not report.
    fn lost(&mut self, slot: usize, reason: Reason) {
        warn!(slot, reason = reason.name(), "a device of the cohort is lost to the round");
        self.server.hub.metrics.refused.add(reason);
        self.missed(slot);
        self.server.hub.state().note(None, Some(slot), reason);
    }

    /// Notes that a device did not use its grant, and that others have waited for it until now.
    fn missed(&mut self, slot: usize) {
        let seen = match self.granted(slot) {
            Some(granted) if granted.is_crowded_out => Seen::CrowdedOut,
            Some(granted) => Seen::Missed { waited_secs: granted.at.elapsed().as_secs_f64() },
            None => Seen::Missed { waited_secs: 0.0 },
        };
        self.measures.granted(slot, seen);
    }

    fn granted(&self, slot: usize) -> Option<Granted> {
        self.server.hub.state().current.as_ref().and_then(|current| current.granted(slot).ok())
    }

    /// Turns an arrival into the engine's event.
    fn event(&mut self, Arrival { slot, what }: Arrival) -> Event {
        let update = match what {
            Ok(update) => update,
            Err(reason) => {
                self.missed(slot);
                return Event::Lost { device: slot, reason: reason.name() };
            }
        };
        if let Some(granted) = self.granted(slot) {
            self.measure(slot, granted, &update);
        }
        self.accepted.insert(slot, (update.digest, update.train_loss));
        // From here on the engine holds the memory, which is counted only while the network holds it.
        drop(update.memory);
        Event::Update(EngineUpdate {
            device: slot,
            delta: update.delta,
            train_loss: update.train_loss,
            took_secs: update.took_secs,
        })
    }
}
