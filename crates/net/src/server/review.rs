//! Benches devices that keep failing to deliver: they are not asked for a while.

use tracing::warn;

use super::journal::Permit;
use super::world::NetWorld;
use crate::measure::BenchChange;
use crate::reason::Reason;

impl NetWorld<'_> {
    /// Benches devices that keep failing to deliver, and lets devices return whose pause is over. Returns whether there are
    /// any. The result is committed with the round, so it survives a restart.
    pub(super) fn review(&mut self, round: u64, now_secs: f64) -> bool {
        let BenchChange { benched, returned, spared } = self.measures.review(now_secs);
        let mut state = self.server.hub.state();
        for (slot, pause_secs) in &benched {
            let device = state.members[*slot].device.name.clone();
            warn!(%device, slot, pause_secs, "a device keeps failing to deliver and is not asked for a while; if it is honest, give it time by round.deadline_secs");
            state.note(None, Some(*slot), Reason::Benched);
            state.tell_refusal(*slot, round, Reason::Benched);
        }
        drop(state);
        if !spared.is_empty()
            && let Some(Permit { left_out }) = self.server.hub.journal.permit("fleet", "spared")
        {
            warn!(
                devices = spared.len(),
                left_out,
                "more than half of the fleet fails to deliver: see the reasons under fedflip_refused_total"
            );
        }
        let out = (0..self.measures.len()).filter(|&slot| self.measures.is_benched(slot)).count();
        self.server.hub.metrics.devices_benched.set(out as f64);
        !(benched.is_empty() && returned.is_empty())
    }
}
