//! Commits the rounds of a run to its state, each before the next one opens.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_engine::{BoxedError, Control, Sink, State};
use fedflip_fleet::{Metrics, ModelVector};
use fedflip_record::{Best, Estimated, Initial, Round};
use tracing::info;

use super::Server;
use super::counts;
use super::deploy::Observer;
use super::deployed_run::bring_incidents;
use super::world::Receipt;
use crate::error::NetError;
use crate::state::{Commit, EnrolledDevice, Fate, RunState};

pub(super) struct Committer<'a> {
    pub server: &'a Server,
    pub state: &'a mut RunState,
    pub operators_folder: PathBuf,
    pub observer: &'a mut dyn Observer,
    pub stop: &'a dyn Fn() -> bool,
    pub model: Arc<ModelVector>,
    /// The best evaluation so far; none of a run without a target.
    pub best: Option<&'a mut Best>,
    pub devices: usize,
    /// Devices that the state keeps, by slot.
    pub kept: &'a mut [EnrolledDevice],
    /// The plan is reviewed after this round.
    pub replan_after: Option<u64>,
}

impl Committer<'_> {
    fn commit(&mut self, record: &Round, receipt: &Receipt, state: &State) -> Result<(), NetError> {
        bring_incidents(self.server, self.state);
        let bytes = self.server.update_bytes;
        let fates: Vec<(usize, Fate)> = record
            .cohort
            .iter()
            .map(|&slot| {
                let lost = record.lost.iter().find(|lost| lost.device == slot);
                let fate = match (lost, receipt.accepted.get(&slot)) {
                    (None, Some(&(digest, train_loss))) => Fate::Accepted { digest, bytes, train_loss },
                    (Some(lost), _) => Fate::Lost { reason: lost.reason.clone() },
                    // Cannot happen: the engine has an update or a loss for every device of the cohort.
                    (None, None) => Fate::Lost { reason: "unknown".to_owned() },
                };
                (slot, fate)
            })
            .collect();
        let moved = !Arc::ptr_eq(&self.model, &state.model);
        let memory: Vec<&[f32]> = state.memory.vectors().map(|(_, vector)| vector).collect();
        self.state.commit(&Commit {
            record,
            secs: state.secs,
            model: moved.then(|| state.model.as_slice()),
            memory: &memory,
            evaluated: state.evaluated.as_ref(),
            fates: &fates,
            measures: &receipt.measures,
            norms: &self.server.norms.stored(),
        })?;
        self.model = Arc::clone(&state.model);
        counts::keep(self.server, self.state, (record.round, &record.cohort), self.kept)?;
        let believed = Estimated::believed(&record.metrics, record.estimated.as_ref());
        self.keep_best(record.round, believed, state)?;
        self.tell(record);
        self.observer.round(record)
    }

    /// After the commit: a server that is killed in between keeps the model when it resumes.
    fn keep_best(&mut self, round: u64, metrics: &Metrics, state: &State) -> Result<(), NetError> {
        match self.best.as_mut().is_some_and(|best| best.take(round, metrics)) {
            true => self.state.keep_best(state.result().as_slice()),
            false => Ok(()),
        }
    }

    fn tell(&self, record: &Round) {
        let metrics = &self.server.hub.metrics;
        metrics.rounds_committed.add(1);
        metrics.round_secs.observe(record.round_secs);
        metrics.evaluated(&record.metrics, record.estimated.as_ref());
        // The first metric that an evaluation has is the headline.
        let headline = record.metrics.iter().next();
        info!(
            round = record.round,
            cohort = record.cohort.len(),
            lost = record.lost.len(),
            secs = record.round_secs,
            train_loss = record.train_loss,
            metric = headline.map(|(name, _)| name),
            value = headline.map(|(_, value)| value),
            estimated_by = record.estimated.as_ref().map(|estimated| estimated.devices),
            standard_error = headline.and_then(|(name, _)| record.estimated.as_ref()?.se.get(name)),
            "a round is committed"
        );
    }
}

impl Sink<Receipt> for Committer<'_> {
    fn initial(&mut self, initial: Initial, state: &State) -> Result<Control, BoxedError> {
        self.state.initial(&initial)?;
        let believed = Estimated::believed(&initial.metrics, initial.estimated.as_ref());
        self.keep_best(0, believed, state)?;
        self.server.hub.metrics.evaluated(&initial.metrics, initial.estimated.as_ref());
        self.observer.initial(&initial)?;
        Ok(if (self.stop)() { Control::Stop } else { Control::GoOn })
    }

    fn round(&mut self, record: Round, receipt: Receipt, state: &State) -> Result<Control, BoxedError> {
        let record = Round { download_secs: receipt.download_secs, ..record };
        self.commit(&record, &receipt, state)?;
        let left = self.server.look_for_departures(&self.operators_folder);
        let came = self.server.hub.state().members.len() > self.devices;
        let due = left
            || receipt.bench_changed
            || self.replan_after.is_some_and(|round| state.round >= round || came);
        Ok(if due || (self.stop)() { Control::Stop } else { Control::GoOn })
    }
}
