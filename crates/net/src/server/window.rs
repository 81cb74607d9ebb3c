//! The window in which coins are heard: who is asked, for whom it stays open, and what that says of devices.

use std::time::Duration;

use super::hub::ServerState;
use super::member::Member;
use super::round::Current;
use super::world::NetWorld;

/// A window that stays open for longer than this part of it was held open by whoever did not answer.
const HELD_OPEN: u32 = 10;

impl NetWorld<'_> {
    /// Tells everybody who is there that a round is open. Devices that let window after window pass are told, too,
    /// but not waited for, unless there is nobody else: a round that nobody is waited for would be over at once.
    pub(super) fn ask_everybody(&self, state: &mut ServerState, current: &mut Current) {
        let devices = self.planned.fleet.len();
        let is_waited_for = |(slot, member): (usize, &Member)| {
            current.has_coin(slot) && member.link.is_some() && member.silence.is_waited_for()
        };
        let waits_for_all = !state.members[..devices].iter().enumerate().any(is_waited_for);
        for slot in 0..devices {
            let Member { calls, link, silence, .. } = &mut state.members[slot];
            // An answer and, with heads, a model.
            calls.grant(2.0);
            if link.is_some()
                && let Some(notice) = current.ask(slot, waits_for_all || silence.is_waited_for())
                && !state.tell(slot, notice)
            {
                current.gone(slot);
            }
        }
    }

    /// Notes who has answered, and for whom the window was kept `open` in vain. A window that ended early says nothing
    /// about devices that were not waited for.
    pub(super) fn note_answers(&mut self, state: &mut ServerState, open: Duration) {
        let is_whole = open >= self.deployment.timeouts.window;
        // A device that hangs up before the end has made others wait, too.
        let is_held_open = open > self.deployment.timeouts.window / HELD_OPEN;
        let ServerState { current: Some(current), members, .. } = state else { return };
        for (slot, member) in members.iter_mut().enumerate().take(self.planned.fleet.len()) {
            let (answered, was_awaited) = (current.answered(slot), current.was_awaited(slot));
            // Whoever has not come back since the server started may not know yet that it did.
            if !member.has_attended || !current.has_coin(slot) {
                continue;
            }
            let was_told = member.link.is_some();
            if answered || was_awaited || is_whole || !was_told {
                self.measures.opened(slot, answered);
            }
            if was_awaited && !answered && is_held_open {
                member.silence.missed_a_window();
            }
        }
    }
}
