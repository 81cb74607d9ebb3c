//! Writes a run's state.

mod plans;

use std::path::Path;

use fedflip_record::folder::{BEST, Lock, MODEL};
use fedflip_record::{End, Initial, Line, Recount, atomic};
use rusqlite::{Transaction, TransactionBehavior, params};

use super::database::in_folder;
use super::digests::Sum;
use super::incidents::Incidents;
use super::inserts::{insert_fates, kind};
use super::models::Models;
use super::records_file::RecordsFile;
use super::rows::{Commit, EnrolledDevice, Fate, StoredPlan};
use super::seals::Seals;
use super::view::StateView;
use crate::coin::KEY_BYTES;
use crate::error::NetError;
use crate::wire::numbers::VectorDigest;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NewestModel {
    /// The round that wrote it; 0 before the first update.
    pub round: u64,
    /// The digest of the model and of the vectors that are kept with it.
    pub sha256: Option<VectorDigest>,
}

/// The state of a run, held by the one server that writes it.
///
/// Every change is on the disk when its function returns. After a failure every further change is refused: the files
/// may be behind the database, and opening the folder again repairs them.
#[derive(Debug)]
pub struct RunState {
    pub(super) view: StateView,
    pub(super) records: RecordsFile,
    pub(super) models: Models,
    pub(super) incidents: Incidents,
    /// Names and coins, by slot.
    pub(super) devices: Vec<(String, [u8; KEY_BYTES])>,
    /// The plan that is in force.
    pub(super) plan: Option<StoredPlan>,
    /// Whether the first model's evaluation is committed.
    pub(super) has_initial: bool,
    pub(super) model: NewestModel,
    pub(super) seals: Seals,
    pub(super) ended: bool,
    pub(super) failed: bool,
    pub(super) _lock: Lock,
}

impl RunState {
    pub fn path(&self) -> &Path {
        &self.view.folder
    }

    pub fn round(&self) -> u64 {
        self.seals.chain.rounds
    }

    /// Stores a device in its slot, or the new measurements of a device that enrolled before. A name keeps its slot and its
    /// coin.
    pub fn enrol(&mut self, device: &EnrolledDevice) -> Result<(), NetError> {
        let EnrolledDevice { slot, name, coin, samples, compute_secs, comm_mbit } = device;
        let known = self.devices.iter().position(|(known, _)| known == name);
        match known {
            Some(at) if at != *slot => return refuse(format!("{name} at {slot}: its place is {at}")),
            Some(at) if self.devices[at].1 != *coin => return refuse(format!("another coin of {name}")),
            None if *slot != self.devices.len() => {
                return refuse(format!("{name} at {slot}: the next place is {}", self.devices.len()));
            }
            _ => {}
        }
        if ![samples, compute_secs, comm_mbit].iter().all(|number| number.is_finite()) {
            return refuse(format!("the claims of {name}: some are not finite numbers"));
        }
        let upsert = "INSERT INTO devices (slot, name, coin, samples, compute_secs, comm_mbit) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (slot) DO UPDATE SET \
                      samples = excluded.samples, compute_secs = excluded.compute_secs, \
                      comm_mbit = excluded.comm_mbit";
        self.write(None, |state, _, seals| {
            let row = *slot as i64;
            let digest = || Sum::of(state, "SELECT * FROM devices WHERE slot = ?1", [row]);
            seals.devices.toggle(digest()?);
            state.execute(upsert, params![row, name, coin, samples, compute_secs, comm_mbit])?;
            seals.devices.toggle(digest()?);
            Ok(())
        })?;
        if known.is_none() {
            self.devices.push((name.clone(), *coin));
        }
        Ok(())
    }

    /// Stores new sample counts of devices, with a line of the records.
    pub fn recount(&mut self, recount: &Recount) -> Result<(), NetError> {
        self.goes_on()?;
        if recount.after_round != self.round() {
            return refuse(format!(
                "sample counts of round {}, in round {}",
                recount.after_round,
                self.round()
            ));
        }
        if let Some(wrong) = recount.counts.iter().find(|count| count.device >= self.devices.len()) {
            return refuse(format!("{} samples at {}", wrong.now, wrong.device));
        }
        self.write(Some(&Line::Recount(recount.clone())), |state, _, seals| {
            for count in &recount.counts {
                let (row, samples) = (count.device as i64, count.now as f64);
                let digest = || Sum::of(state, "SELECT * FROM devices WHERE slot = ?1", [row]);
                seals.devices.toggle(digest()?);
                state.execute("UPDATE devices SET samples = ?2 WHERE slot = ?1", params![row, samples])?;
                seals.devices.toggle(digest()?);
            }
            Ok(())
        })
    }

    /// Commits the evaluation of the first model, once, before the first round.
    pub fn initial(&mut self, initial: &Initial) -> Result<(), NetError> {
        self.goes_on()?;
        if self.plan.is_none() || self.round() > 0 || self.has_initial {
            return refuse(
                "the first model's evaluation at another time than before the first round".to_owned(),
            );
        }
        self.write(Some(&Line::Initial(initial.clone())), |_, _, _| Ok(()))?;
        self.has_initial = true;
        Ok(())
    }

    /// Commits a round completely, or not at all.
    pub fn commit(&mut self, commit: &Commit<'_>) -> Result<(), NetError> {
        self.goes_on()?;
        let round = commit.record.round;
        if round != self.round() + 1 {
            return refuse(format!("round {round} after round {}", self.round()));
        }
        if self.plan.is_none() {
            return refuse("a round before the first plan".to_owned());
        }
        agree(commit)?;
        let model = match commit.model {
            Some(model) => {
                let sha256 = self.beside(|state| state.models.write(round, model, commit.memory))?;
                NewestModel { round, sha256: Some(sha256) }
            }
            None => self.model,
        };
        let metrics = commit.evaluated.map(serde_json::to_string).transpose();
        let metrics = metrics.map_err(|error| NetError::StateRefused {
            what: format!("metrics that cannot be written: {error}"),
        })?;
        let plan = self.seals.chain.plans as i64;
        let insert = "INSERT INTO rounds (round, plan, seq, secs, model_round, model_sha256, metrics) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.write(Some(&Line::Round(commit.record.clone())), |state, seq, seals| {
            let (model_round, sha256) = (model.round as i64, model.sha256);
            state.execute(
                insert,
                params![round as i64, plan, seq, commit.secs, model_round, sha256, metrics],
            )?;
            insert_fates(state, round, commit.fates)?;
            state.execute("UPDATE run SET measures = ?1, norms = ?2", [commit.measures, commit.norms])?;
            seals.renew_run(state)
        })?;
        let before = std::mem::replace(&mut self.model, model);
        if before.round != model.round && before.round != 0 {
            self.models.remove(before.round);
        }
        Ok(())
    }

    /// Notes a refusal or another event. The next commit writes it: a peer that is refused often must not make the server
    /// wait for the disk.
    pub fn incident(&mut self, round: u64, device: Option<&str>, reason: &str) {
        self.incidents.note(round, device, reason);
    }

    /// Writes incidents that would otherwise wait for the next commit.
    pub fn flush(&mut self) -> Result<(), NetError> {
        if self.incidents.is_empty() { Ok(()) } else { self.write(None, |_, _, _| Ok(())) }
    }

    /// Ends the run with this model.
    pub fn end(&mut self, end: &End, model: &[f32]) -> Result<(), NetError> {
        self.goes_on()?;
        if self.plan.is_none() {
            return refuse("an end before the first plan".to_owned());
        }
        self.beside(|state| Ok(atomic::write(&state.path().join(MODEL), &state.models.bytes(model)?)?))?;
        self.write(Some(&Line::End(end.clone())), |_, _, _| Ok(()))?;
        self.ended = true;
        Ok(())
    }

    /// Keeps the best model so far, for readers.
    pub fn keep_best(&mut self, model: &[f32]) -> Result<(), NetError> {
        self.beside(|state| Ok(atomic::write(&state.path().join(BEST), &state.models.bytes(model)?)?))
    }

    fn goes_on(&self) -> Result<(), NetError> {
        if self.ended { refuse("anything after its end".to_owned()) } else { Ok(()) }
    }

    /// Commits one transaction: a line of the records, the changes that `act` makes with the line's number, the incidents
    /// that wait, and the digests of all these. Then appends the line for readers.
    fn write(
        &mut self,
        line: Option<&Line>,
        act: impl FnOnce(&Transaction<'_>, i64, &mut Seals) -> rusqlite::Result<()>,
    ) -> Result<(), NetError> {
        self.beside(|state| {
            let transaction =
                state.view.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut seals = state.seals;
            let seq = seals.chain.records as i64 + 1;
            let mut text = String::new();
            if let Some(line) = line {
                text = serde_json::to_string(line).map_err(|error| NetError::StateRefused {
                    what: format!("a record that cannot be written: {error}"),
                })?;
                let insert = "INSERT INTO records (seq, kind, line) VALUES (?1, ?2, ?3)";
                transaction.execute(insert, params![seq, kind(line), text])?;
                text.push('\n');
            }
            act(&transaction, seq, &mut seals)?;
            state.incidents.write(&transaction, &mut seals.incidents)?;
            if line.is_some() {
                seals.append_record(&transaction)?;
            }
            seals.write(&transaction)?;
            transaction.commit()?;
            state.seals = seals;
            state.incidents.written();
            state.records.append(&text)
        })
    }

    /// Every write goes through here: after a failure nothing more is written.
    fn beside<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, NetError>) -> Result<T, NetError> {
        if self.failed {
            return Err(NetError::StateFailed { folder: self.path().display().to_string() });
        }
        let done = act(self);
        self.failed = done.is_err();
        in_folder(self.path(), done)
    }
}

fn refuse(what: String) -> Result<(), NetError> {
    Err(NetError::StateRefused { what })
}

/// Refuses a record that disagrees with the fates.
fn agree(commit: &Commit<'_>) -> Result<(), NetError> {
    let slots = commit.fates.iter().map(|(slot, _)| *slot);
    let lost = commit.fates.iter().filter(|(_, fate)| matches!(fate, Fate::Lost { .. }));
    let named = commit.record.lost.iter().map(|lost| lost.device);
    if slots.ne(commit.record.cohort.iter().copied()) || lost.map(|(slot, _)| *slot).ne(named) {
        return refuse(format!("round {}: its fates are not those of its cohort", commit.record.round));
    }
    Ok(())
}
