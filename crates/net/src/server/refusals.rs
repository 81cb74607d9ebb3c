//! What devices did wrong: incidents to record, and devices that lose their turn.

use super::exchange::Arrival;
use super::hub::ServerState;
use super::round::{Current, Taken};
use crate::coin::Toss;
use crate::reason::Reason;
use crate::state::Incident;

/// At most this many incidents wait to be recorded; a newer one replaces the oldest.
const INCIDENTS_WAITING_MAX: usize = 1000;

impl ServerState {
    /// Whether a toss belongs to the round in progress or to the one before.
    pub(crate) fn is_recent(&self, toss: Toss) -> bool {
        let is_previous = self.previous.as_ref().is_some_and(|(previous, _)| *previous == toss);
        is_previous || self.current.as_ref().is_some_and(|current| current.is(toss))
    }

    /// Notes an incident. A device may name any round; only the round in progress and the one before are believed.
    pub(crate) fn note(&mut self, toss: Option<Toss>, slot: Option<usize>, reason: Reason) {
        let in_progress = self.current.as_ref().map_or(0, Current::round);
        let round = toss.filter(|toss| self.is_recent(*toss)).map_or(in_progress, |toss| toss.round);
        let device = slot.and_then(|slot| self.members.get(slot)).map(|member| member.device.name.clone());
        let incident = Incident { round, device, reason: reason.name().to_owned() };
        // Once in a round is enough: a device that repeats itself must not fill the disk.
        if !self.incidents.contains(&incident) {
            if self.incidents.len() == INCIDENTS_WAITING_MAX {
                self.incidents.pop_front();
            }
            self.incidents.push_back(incident);
        }
    }

    /// Notes a refusal. A device whose message cannot be an accident loses its turn.
    pub(crate) fn give_up_on(&mut self, slot: usize, toss: Option<Toss>, reason: Reason) {
        self.note(toss, Some(slot), reason);
        if let Some(current) = &mut self.current
            && toss.is_some_and(|toss| current.is(toss))
            && !reason.may_try_again()
            && current.take(slot, Taken::Refused(reason))
        {
            self.arrived.push_back(Arrival { slot, what: Err(reason) });
        }
    }
}
