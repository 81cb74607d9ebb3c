//! A round is over: it is committed before the next one opens.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fedflip_engine::{Control, Sink, State};
use fedflip_fleet::ModelVector;
use fedflip_record::{RecordError, Round};
use tokio::time::Instant;
use tracing::{info, warn};

use super::Server;
use super::deploy::{Observer, bring_incidents};
use super::journal::Entry;
use super::world::Ledger;
use crate::error::NetError;
use crate::measure::BenchChange;
use crate::reason::Reason;
use crate::state::{Commit, Fate, RunState};
use crate::wire::v1;

/// Commits rounds.
pub(super) struct Committer<'a> {
    pub server: &'a Server,
    pub state: &'a mut RunState,
    pub ledger: Rc<RefCell<Ledger>>,
    pub observer: &'a mut dyn Observer,
    pub stop: &'a dyn Fn() -> bool,
    /// As it was committed last.
    pub model: Arc<ModelVector>,
    /// Of the plan.
    pub devices: usize,
    /// The plan is looked at after this round.
    pub replan_after: Option<u64>,
    /// Somebody was benched, or returns: the plan is for others than before.
    pub bench_changed: bool,
    /// What went wrong here: the engine knows only records.
    pub failed: Option<NetError>,
}

impl Committer<'_> {
    fn commit(&mut self, record: &Round, state: &State) -> Result<(), NetError> {
        self.review(record.round, state.secs);
        bring_incidents(self.server, self.state);
        let ledger = self.ledger.borrow();
        let bytes = self.server.update_bytes;
        let fates: Vec<(usize, Fate)> = record
            .cohort
            .iter()
            .map(|&slot| {
                let lost = record.lost.iter().find(|lost| lost.device == slot);
                let fate = match (lost, ledger.accepted.get(&slot)) {
                    (None, Some(&(digest, train_loss))) => Fate::Accepted { digest, bytes, train_loss },
                    (Some(lost), _) => Fate::Lost { reason: lost.reason.clone() },
                    // Cannot be: the engine has heard of nobody else.
                    (None, None) => Fate::Lost { reason: "unknown".to_owned() },
                };
                (slot, fate)
            })
            .collect();
        let measures = serde_json::to_string(&ledger.measures).unwrap_or_default();
        let moved = !Arc::ptr_eq(&self.model, &state.model);
        let memory: Vec<&[f32]> = state.memory.vectors().map(|(_, vector)| vector).collect();
        self.state.commit(&Commit {
            record,
            secs: state.secs,
            model: moved.then(|| state.model.as_slice()),
            memory: &memory,
            evaluated: state.evaluated.map(|scores| [scores.loss, scores.accuracy]),
            fates: &fates,
            measures: &measures,
            norms: &self.server.norms.stored(),
        })?;
        self.model = Arc::clone(&state.model);
        drop(ledger);
        self.tell(record);
        self.observer.round(record)
    }

    /// Benches devices that keep failing to deliver, and notes whose pause is over. It is part of the commit, so that
    /// a restart changes nothing about it.
    fn review(&mut self, round: u64, now_secs: f64) {
        let mut ledger = self.ledger.borrow_mut();
        let BenchChange { benched, returned, spared } = ledger.measures.review(now_secs);
        let mut desk = self.server.hub.desk();
        for (slot, pause_secs) in &benched {
            let device = desk.members[*slot].name.clone();
            warn!(%device, slot, pause_secs, "a device keeps failing to deliver and is not asked for a while; if it is honest, give it time by round.deadline_secs");
            desk.note(None, Some(*slot), Reason::Benched);
            let refusal = v1::Refusal { round, reason: Reason::Benched.name().to_owned() };
            desk.tell(*slot, v1::to_device::What::Refusal(refusal));
        }
        drop(desk);
        let journal = &self.server.hub.journal;
        if !spared.is_empty()
            && let Some(Entry { left_out }) = journal.entry("fleet", "spared", Instant::now())
        {
            warn!(
                devices = spared.len(),
                left_out,
                "more than half of the fleet fails to deliver: see the reasons under fedflip_refused_total"
            );
        }
        let out = (0..ledger.measures.len()).filter(|&slot| ledger.measures.is_benched(slot)).count();
        self.server.metrics.devices_benched.set(out as f64);
        self.bench_changed |= !(benched.is_empty() && returned.is_empty());
    }

    fn tell(&self, record: &Round) {
        let metrics = &self.server.metrics;
        metrics.rounds_committed.add(1);
        metrics.round_secs.observe(record.round_secs);
        record.loss.into_iter().for_each(|loss| metrics.loss.set(loss));
        record.accuracy.into_iter().for_each(|accuracy| metrics.accuracy.set(accuracy));
        info!(
            round = record.round,
            cohort = record.cohort.len(),
            lost = record.lost.len(),
            secs = record.round_secs,
            train_loss = record.train_loss,
            accuracy = record.accuracy,
            "a round is committed"
        );
    }
}

impl Sink for Committer<'_> {
    fn round(&mut self, record: Round, state: &State) -> Result<Control, RecordError> {
        if let Err(error) = self.commit(&record, state) {
            self.failed = Some(error);
            return Ok(Control::Stop);
        }
        let came = self.server.hub.desk().members.len() > self.devices;
        let due = self.bench_changed || self.replan_after.is_some_and(|round| state.round >= round || came);
        Ok(if due || (self.stop)() { Control::Stop } else { Control::GoOn })
    }
}
