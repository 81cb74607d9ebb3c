//! Devices that leave a run for good: an operator retires them, or their certificate is revoked.

use std::path::Path;

use tracing::{info, warn};

use super::Server;
use super::hub::ServerState;
use super::journal::Permit;
use crate::error::NetError;
use crate::reason::Reason;
use crate::state::{Departure, departed};
use crate::status::Standing;

impl Server {
    /// Reads who has left the run in this folder, and lets them go. Returns whether somebody is new among them: then the
    /// plan is for other devices.
    pub(super) fn note_departures(&self, folder: &Path) -> Result<bool, NetError> {
        if !self.revoked.is_empty() {
            let state = self.hub.state();
            let here = state.members.iter().filter(|member| member.departed.is_none());
            let revoked = here.filter(|member| self.revoked.contains(&member.device.name));
            let names: Vec<String> = revoked.map(|member| member.device.name.clone()).collect();
            drop(state);
            if !names.is_empty() {
                departed::add(folder, names.iter().map(|name| (name.as_str(), Departure::Revoked)))?;
            }
        }
        let departed = departed::read(folder)?;
        if departed.is_empty() {
            return Ok(false);
        }
        let mut state = self.hub.state();
        let leaves = |state: &ServerState, slot: usize| {
            let member = &state.members[slot];
            member.departed.is_none().then(|| departed.get(&member.device.name).copied()).flatten()
        };
        let mut is_changed = false;
        for slot in 0..state.members.len() {
            if let Some(departure) = leaves(&state, slot) {
                info!(device = %state.members[slot].device.name, slot, ?departure, "a device leaves for good");
                state.depart(slot, departure);
                is_changed = true;
            }
        }
        self.hub.metrics.devices_departed.set(state.departed as f64);
        Ok(is_changed)
    }

    /// Does the same while rounds run: a file that cannot be read just then changes nothing.
    pub(super) fn look_for_departures(&self, folder: &Path) -> bool {
        self.note_departures(folder).unwrap_or_else(|error| {
            if let Some(Permit { left_out }) = self.hub.journal.permit("fleet", "departed") {
                warn!(%error, left_out, "cannot read which devices were retired");
            }
            false
        })
    }
}

impl ServerState {
    /// A device leaves for good: its slot stays, and its calls are refused.
    fn depart(&mut self, slot: usize, departure: Departure) {
        self.tell_refusal(slot, 0, Reason::Retired);
        self.members[slot].departed = Some(departure);
        self.members[slot].disconnect();
        self.departed += 1;
    }

    /// Whether a device is part of plans, by all that is known now.
    pub(super) fn standing(&self, slot: usize, is_benched: bool) -> Standing {
        match self.members.get(slot).and_then(|member| member.departed) {
            Some(Departure::Retired) => Standing::Retired,
            Some(Departure::Revoked) => Standing::Revoked,
            None if is_benched => Standing::Benched,
            None => Standing::Active,
        }
    }
}
