//! A device that attends: the server reads its answers and notices when it leaves.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::Streaming;
use tracing::{debug, warn};

use super::hub::{Hub, Notice, ServerState};
use super::journal::Permit;
use super::round::check_coin;
use crate::coin::Toss;
use crate::reason::Reason;
use crate::wire::v1;
use crate::wire::v1::from_device::What;

/// The open stream of a device. It ends when the device leaves, for whatever reason.
pub(super) struct Attendance {
    hub: Arc<Hub>,
    slot: usize,
    link_id: u64,
}

impl Attendance {
    pub(super) fn begin(hub: &Arc<Hub>, slot: usize) -> (Self, mpsc::Receiver<Notice>) {
        let (link_id, notices) = hub.state().attend(slot);
        hub.ring();
        (Self { hub: Arc::clone(hub), slot, link_id }, notices)
    }

    pub(super) async fn listen(self, mut messages: Streaming<v1::FromDevice>) {
        // An error ends the stream like anything else: the device connects again.
        while let Ok(Some(message)) = messages.message().await {
            if !self.hub.state().members[self.slot].calls.take(Instant::now()) {
                self.note(None, Reason::TooManyCalls);
                break;
            }
            match message.what {
                Some(What::Answer(answer)) => self.answered(&answer),
                Some(What::Failure(failure)) => self.failed(&failure),
                Some(What::Evaluated(report)) => self.evaluated(&report),
                Some(What::Fetched(fetched)) => self.fetched(&fetched),
                None => self.note(None, Reason::BadMessage),
            }
        }
        debug!(slot = self.slot, "a device leaves");
    }

    fn answered(&self, answer: &v1::Answer) {
        let taken = self.check(answer);
        match taken {
            Ok(()) => self.hub.ring(),
            // A late answer is nobody's fault.
            Err(Reason::StaleRound) => debug!(slot = self.slot, round = answer.round, "a late answer"),
            Err(reason) => {
                if let Some(Permit { left_out }) = self.log_permit("coin") {
                    let (slot, round) = (self.slot, answer.round);
                    warn!(slot, round, reason = reason.name(), left_out, "a coin is refused");
                }
                if matches!(reason, Reason::FalseCoin | Reason::CoinSaysNo) {
                    self.hub.metrics.coins_refused.add(1);
                }
                self.note(Toss::named(&answer.run, answer.round), reason);
                self.hub.ring();
            }
        }
    }

    /// Proofs are checked while nobody waits for the lock: a thousand devices may answer at once.
    fn check(&self, answer: &v1::Answer) -> Result<(), Reason> {
        let toss = Toss::named(&answer.run, answer.round).ok_or(Reason::BadMessage)?;
        let coin = {
            let mut state = self.hub.state();
            let coin = state.members[self.slot].coin;
            // Rounds may be shorter than the latency of the device: an answer to any round is a sign of life.
            let is_known = |now: &Toss| now.run == toss.run && toss.round <= now.round;
            if state.current.as_ref().is_some_and(|current| is_known(&current.toss)) {
                state.members[self.slot].silence.answered(toss.round);
            }
            let Some(current) = state.current.as_mut().filter(|current| current.is(toss)) else {
                return Err(Reason::StaleRound);
            };
            if !current.hears(self.slot) {
                // An answer that does not count is not worth checking.
                return current.answer(self.slot, Err(Reason::FalseCoin), Instant::now());
            }
            coin
        };
        let said = check_coin(&coin, toss, &answer.proof);
        match &mut self.hub.state().current {
            Some(current) if current.is(toss) => current.answer(self.slot, said, Instant::now()),
            _ => Err(Reason::StaleRound),
        }
    }

    fn failed(&self, failure: &v1::Failure) {
        let round = failure.round;
        let toss = Toss::named(&failure.run, round);
        {
            let mut state = self.hub.state();
            let current = state.current.as_ref();
            if !current.zip(toss).is_some_and(|(current, toss)| current.is(toss)) {
                // Nobody waits for this device any more.
                debug!(slot = self.slot, round, "a late failure");
                return;
            }
            state.give_up_on(self.slot, toss, Reason::Failed);
        }
        if let Some(Permit { left_out }) = self.log_permit("failure") {
            warn!(slot = self.slot, round, left_out, "a device cannot train");
        }
        self.hub.metrics.refused.add(Reason::Failed);
        self.hub.ring();
    }

    /// A word about another round says nothing.
    fn fetched(&self, fetched: &v1::Fetched) {
        if let Some(toss) = Toss::named(&fetched.run, fetched.round) {
            self.hub.state().received_model(self.slot, toss);
        }
    }

    /// Takes the sums of an evaluation. A report that nobody awaits any more is a sign of life, and nothing else.
    fn evaluated(&self, report: &v1::Evaluated) {
        let slot = self.slot;
        let toss = Toss::named(&report.run, report.round);
        let is_wanted = |state: &ServerState| {
            state.evaluation.as_ref().is_some_and(|evaluation| evaluation.wants(slot, report))
        };
        let wanted = {
            let mut state = self.hub.state();
            let is_known =
                |newest: Toss| toss.is_some_and(|toss| toss.run == newest.run && toss.round <= newest.round);
            // A device on a slow link is late again and again: it is waited for again after some late reports.
            if state.evaluated.is_some_and(is_known) && !report.failed {
                state.members[slot].evaluating.answered(report.round);
            }
            is_wanted(&state).then(|| state.members[slot].device.samples)
        };
        let Some(samples) = wanted else {
            debug!(slot, round = report.round, "an evaluation that nobody awaits");
            self.hub.metrics.refused.add(Reason::StaleRound);
            return;
        };
        // Nobody waits for the lock meanwhile.
        let sums = match report.failed {
            true => Err(Reason::Failed),
            false => self.hub.declared.checked(&report.sums, samples),
        };
        if let Err(reason) = sums {
            if let Some(Permit { left_out }) = self.log_permit("evaluation") {
                let (round, reason) = (report.round, reason.name());
                warn!(slot, round, reason, left_out, "an evaluation does not count");
            }
            self.note(toss, reason);
        }
        {
            let mut state = self.hub.state();
            if is_wanted(&state)
                && let Some(evaluation) = &mut state.evaluation
            {
                evaluation.take(slot, sums);
            }
        }
        self.hub.ring();
    }

    fn log_permit(&self, subject: &'static str) -> Option<Permit> {
        let name = self.hub.state().members[self.slot].device.name.clone();
        self.hub.journal.permit(&name, subject)
    }

    fn note(&self, toss: Option<Toss>, reason: Reason) {
        self.hub.metrics.refused.add(reason);
        let mut state = self.hub.state();
        state.note(toss, Some(self.slot), reason);
        state.tell_refusal(self.slot, toss.map_or(0, |toss| toss.round), reason);
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        {
            let mut state = self.hub.state();
            state.leave(self.slot, self.link_id);
            let gone = state.members[self.slot].link.is_none();
            if let Some(current) = &mut state.current
                && gone
            {
                current.gone(self.slot);
            }
            if let Some(evaluation) = &mut state.evaluation
                && gone
            {
                evaluation.gone(self.slot);
            }
        }
        self.hub.ring();
    }
}
