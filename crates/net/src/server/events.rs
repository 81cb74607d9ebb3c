//! What happens in a round while the engine waits: updates, refusals, devices that leave, the deadline.

use fedflip_engine::{Event, Update as EngineUpdate};
use fedflip_fleet::bandwidth::{self, DeviceJob};
use tokio::time::Instant;
use tracing::warn;

use super::exchange::Arrival;
use super::grant::Granted;
use super::quorum::POLL_EVERY;
use super::round::Current;
use super::world::NetWorld;
use crate::measure::Outcome as Seen;
use crate::reason::Reason;

/// What packets add to a payload at most.
const FRAMED: f64 = 1.25;

/// What happens next in a round.
enum Next {
    Arrival(Arrival),
    Missing(usize),
    Deadline(Vec<usize>),
}

impl NetWorld<'_> {
    /// The next event of the round, if there is one by now.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self.next()? {
            Next::Arrival(arrival) => Some(self.event(arrival)),
            Next::Missing(device) => {
                self.lost(device, Reason::Disconnected);
                Some(Event::Lost { device, reason: Reason::Disconnected.name() })
            }
            Next::Deadline(late) => {
                late.into_iter().for_each(|slot| self.lost(slot, Reason::Deadline));
                Some(Event::Deadline)
            }
        }
    }

    fn next(&mut self) -> Option<Next> {
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert(now);
        let mut state = self.hub.state();
        if let Some(arrival) = state.arrived.pop_front() {
            Some(Next::Arrival(arrival))
        } else if let Some(slot) = self.missing(&mut state, now) {
            Some(Next::Missing(slot))
        } else if now >= deadline + POLL_EVERY && !self.was_late {
            // The server itself was away: what has come meanwhile is still to be read.
            (self.was_late, self.deadline) = (true, Some(now + POLL_EVERY));
            None
        } else if now >= deadline {
            // Under the same lock: whoever comes from now on is told that it is too late.
            Some(Next::Deadline(state.current.as_mut().map(Current::close_for_good).unwrap_or_default()))
        } else {
            None
        }
    }

    /// A device that took part will not report.
    fn lost(&mut self, slot: usize, reason: Reason) {
        warn!(slot, reason = reason.name(), "a device that took part is lost to the round");
        self.metrics.refused.add(reason);
        self.missed(slot);
        self.hub.state().note(None, Some(slot), reason);
    }

    /// A device's grant came to nothing, and others have waited for it until now.
    fn missed(&mut self, slot: usize) {
        let seen = match self.granted(slot) {
            Some(granted) if granted.is_crowded_out => Seen::CrowdedOut,
            Some(granted) => Seen::Missed { waited_secs: granted.at.elapsed().as_secs_f64() },
            None => Seen::Missed { waited_secs: 0.0 },
        };
        self.measures.granted(slot, seen);
    }

    fn granted(&self, slot: usize) -> Option<Granted> {
        self.hub.state().current.as_ref().and_then(|current| current.granted(slot).ok())
    }

    /// What an arrival is to the engine.
    fn event(&mut self, Arrival { slot, what }: Arrival) -> Event {
        let update = match what {
            Ok(update) => update,
            Err(reason) => {
                self.missed(slot);
                return Event::Lost { device: slot, reason: reason.name() };
            }
        };
        if let Some(Granted { mbps, upload_from_secs, .. }) = self.granted(slot) {
            let [compute_secs, upload_secs] = update.took_secs;
            // Whoever sends faster than granted sends no less for that.
            let upload_secs = upload_secs.max(self.payload_mbit / mbps);
            let seen = Seen::Reported { compute_secs, upload_from_secs, upload_secs, mbps };
            self.measures.granted(slot, seen);
        }
        self.accepted.insert(slot, (update.digest, update.train_loss));
        // Memory is counted while the network holds it; from here on the engine does.
        drop(update.memory);
        Event::Update(EngineUpdate {
            device: slot,
            delta: update.delta,
            train_loss: update.train_loss,
            took_secs: update.took_secs,
        })
    }

    /// An upload that was slow counts as a larger one, so that all finish together. Where the deadline does not leave time
    /// for that, everybody's upload counts as its payload: nobody gets bandwidth that another device needs by being slow.
    pub(super) fn count_payloads_under_pressure(&self, device_jobs: &mut [DeviceJob]) {
        let Some(deadline_secs) = self.explicit_deadline_secs else { return };
        let jobs = device_jobs.iter().map(|device_job| device_job.job);
        if bandwidth::finish_together(jobs, self.band).round_secs()
            <= deadline_secs * (1.0 - self.deadline_margin)
        {
            return;
        }
        for DeviceJob { job, .. } in device_jobs {
            job.load_mbit = job.load_mbit.min(FRAMED * self.payload_mbit);
        }
    }
}
