//! The window for coins: the devices that are asked, those that it stays open for, and what follows for devices.

use std::sync::Arc;
use std::time::Duration;

use fedflip_fleet::{ModelVector, Purpose, StreamKey};
use fedflip_learn::Encoding;
use tokio::time::Instant;

use super::exchange::OfferedModel;
use super::hub::ServerState;
use super::member::Member;
use super::round::Current;
use super::world::NetWorld;
use crate::coin::Toss;
use crate::status::Standing;

/// A window that lasts longer than its length divided by this was held open by devices that did not answer.
const HELD_OPEN: u32 = 10;

impl NetWorld<'_> {
    /// Opens a round for the coins of all devices that attend. Returns the length and the end of its window.
    pub(super) fn open_window(&mut self, round: u64, model: &Arc<ModelVector>) -> (Duration, Instant) {
        let mut coin_q = self.planned.coin_q(round);
        // The plan may still contain a device that is not active, where the planner found no plan without it.
        for (slot, q) in coin_q.iter_mut().enumerate() {
            let is_benched = self.measures.is_benched(slot);
            if self.server.hub.state().standing(slot, is_benched) != Standing::Active {
                *q = 0.0;
            }
        }
        let hub = &self.server.hub;
        hub.metrics.round.set(round as f64);
        // Outside of the lock: the digest takes a while, and calls need the state.
        let offered = self.offered(round, model);
        let mut state = hub.state();
        if let Some(before) = state.current.take() {
            state.previous = Some((before.toss, before.into_taken()));
        }
        state.arrived.clear();
        let toss = Toss { run: self.toss_run, round };
        let (window, now) = (self.deployment.timeouts.window, Instant::now());
        let mut current = Current::open(toss, offered.digest, self.deployment.seed, coin_q, now);
        state.model = Some(offered);
        self.ask_everybody(&mut state, &mut current);
        state.current = Some(current);
        (window, now + window)
    }

    /// The round's model as devices fetch it. All devices of a round get the same bytes.
    fn offered(&self, round: u64, model: &Arc<ModelVector>) -> OfferedModel {
        let encoding = self.server.download_encoding;
        if encoding == Encoding::F32 {
            let known = self.server.hub.state().model.clone().filter(|known| known.is(model));
            return known.unwrap_or_else(|| OfferedModel::new(model));
        }
        let key = StreamKey { seed: self.deployment.seed, purpose: Purpose::ModelRounding, round };
        OfferedModel::encoded(model, encoding, key)
    }

    /// Tells all devices that attend that a round is open. The server does not wait for devices that let window after
    /// window pass, unless no other device attends: a round that waits for nobody would be over at once.
    fn ask_everybody(&self, state: &mut ServerState, current: &mut Current) {
        let devices = self.planned.fleet.len();
        let is_waited_for = |(slot, member): (usize, &Member)| {
            current.has_coin(slot) && member.link.is_some() && member.silence.is_waited_for()
        };
        let waits_for_all = !state.members[..devices].iter().enumerate().any(is_waited_for);
        for slot in 0..devices {
            let Member { calls, link, silence, .. } = &mut state.members[slot];
            // The answer, and the model and a word about it if the device takes part.
            calls.grant(3.0);
            if link.is_some()
                && let Some(notice) = current.ask(slot, waits_for_all || silence.is_waited_for())
                && !state.tell(slot, notice)
            {
                current.gone(slot);
            }
        }
    }

    /// Notes the devices that have answered, and those that the window was kept `open` for in vain. A window that ended
    /// early says nothing about devices that were not awaited.
    pub(super) fn note_answers(&mut self, state: &mut ServerState, open: Duration) {
        let is_whole = open >= self.deployment.timeouts.window;
        // A device that leaves before the end has made others wait, too.
        let is_held_open = open > self.deployment.timeouts.window / HELD_OPEN;
        let ServerState { current: Some(current), members, .. } = state else { return };
        for (slot, member) in members.iter_mut().enumerate().take(self.planned.fleet.len()) {
            let (answered, was_awaited) = (current.answered(slot), current.was_awaited(slot));
            // A device that has not connected since the server started may not know yet that it runs.
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
