//! Looking at a run's state without touching it, also while a server writes.

use std::path::{Path, PathBuf};

use fedflip_learn::layer::ParamSpec;
use fedflip_record::{End, Header};
use rusqlite::Connection;

use super::database::{STATE, open_read_only, refusal};
use super::models::{Models, Remembered};
use super::queries::{self, Incident, StoredRound};
use super::rows::{EnrolledDevice, Fate, StoredPlan};
use super::seals::Seals;
use crate::coin::RUN_BYTES;
use crate::error::NetError;
use crate::wire::numbers::VectorDigest;

#[derive(Debug)]
pub struct StateView {
    folder: PathBuf,
    connection: Connection,
}

impl StateView {
    /// Opens the state in a run's folder, if it is what was committed.
    pub fn open(folder: &Path) -> Result<Self, NetError> {
        if !folder.join(STATE).is_file() {
            return Err(NetError::NoState { folder: folder.display().to_string() });
        }
        let connection = open_read_only(folder)?;
        Seals::checked(&connection, &folder.join(STATE))?;
        Ok(Self { folder: folder.to_owned(), connection })
    }

    fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, NetError> {
        question(&self.connection).map_err(refusal(&self.folder.join(STATE)))
    }

    pub fn run_id(&self) -> Result<[u8; RUN_BYTES], NetError> {
        self.ask(|state| state.query_row("SELECT run_id FROM run", [], |row| row.get(0)))
    }

    /// In the order of their slots.
    pub fn devices(&self) -> Result<Vec<EnrolledDevice>, NetError> {
        self.ask(queries::devices)
    }

    pub fn plans(&self) -> Result<u64, NetError> {
        self.ask(queries::plans)
    }

    /// A plan, counted from 1.
    pub fn plan(&self, number: u64) -> Result<Option<StoredPlan>, NetError> {
        self.ask(|state| queries::plan(state, number))
    }

    pub fn rounds(&self) -> Result<u64, NetError> {
        self.ask(queries::rounds)
    }

    /// A round, counted from 1.
    pub fn round(&self, number: u64) -> Result<Option<StoredRound>, NetError> {
        self.ask(|state| queries::round(state, number))
    }

    /// What became of everybody who took part in a round, in the order of their slots.
    pub fn fates(&self, round: u64) -> Result<Vec<(usize, Fate)>, NetError> {
        self.ask(|state| queries::fates(state, round))
    }

    /// What was refused; the oldest first.
    pub fn incidents(&self) -> Result<Vec<Incident>, NetError> {
        self.ask(queries::incidents)
    }

    /// The first line of the records.
    pub fn header(&self) -> Result<Option<Header>, NetError> {
        self.ask(queries::header)
    }

    /// The last one, if the run is over.
    pub fn end(&self) -> Result<Option<End>, NetError> {
        self.ask(queries::end)
    }

    /// The newest model, with what the run was founded to remember beside it, checked against its digest; none
    /// before anybody moved it. A server that goes on
    /// meanwhile may have replaced it, and then this is refused.
    pub fn model(
        &self,
        params: &[(String, ParamSpec)],
        memory: &[&str],
    ) -> Result<Option<StoredModel>, NetError> {
        let last = self.round(self.rounds()?)?;
        let Some((round, sha256)) = last.and_then(|last| Some((last.model_round, last.model_sha256?))) else {
            return Ok(None);
        };
        let Remembered { model, memory } = Models::new(&self.folder, params, memory).read(round, sha256)?;
        Ok(Some(StoredModel { round, numbers: model, memory, sha256 }))
    }
}

/// A model that a round left.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredModel {
    pub round: u64,
    pub numbers: Vec<f32>,
    /// What else the server remembered, in the order of the names.
    pub memory: Vec<Vec<f32>>,
    pub sha256: VectorDigest,
}
