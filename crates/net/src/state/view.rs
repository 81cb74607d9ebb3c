//! Reading a run's state: for the server that writes it, and for programs that look on while it does.

use std::path::{Path, PathBuf};

use fedflip_fleet::Metrics;
use fedflip_learn::layer::ParamSpec;
use fedflip_plan::Expected;
use fedflip_record::{End, Header, Initial, Line, RecordedCosts};
use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};

use super::database::{self, STATE, damaged, in_folder};
use super::models::Models;
use super::rows::{EnrolledDevice, Fate, Incident, PlannedDevice, StoredModel, StoredPlan, StoredRound};
use super::seals::Seals;
use crate::coin::RUN_BYTES;
use crate::error::{CANNOT_BE_READ, NetError};

/// The database of a run, for questions.
#[derive(Debug)]
pub struct StateView {
    pub(super) folder: PathBuf,
    pub(super) connection: Connection,
}

impl StateView {
    /// Opens the state in a run's folder to read it, after a check that it is what was committed.
    pub fn open(folder: &Path) -> Result<Self, NetError> {
        if !folder.is_dir() {
            let absent = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(NetError::io(folder, CANNOT_BE_READ)(absent));
        }
        if !folder.join(STATE).is_file() {
            return Err(NetError::NoState { folder: folder.display().to_string() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = database::open(folder, flags).and_then(|(connection, holds_run)| {
            if !holds_run {
                return Err(damaged("holds no run"));
            }
            Seals::checked(&connection)?;
            Ok(connection)
        });
        Ok(Self { folder: folder.to_owned(), connection: in_folder(folder, opened)? })
    }

    fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, NetError> {
        in_folder(&self.folder, question(&self.connection).map_err(NetError::from))
    }

    /// The rows that a query finds for `key`, each made by `read`.
    fn rows<T>(
        &self,
        query: &str,
        key: u64,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, NetError> {
        self.ask(|state| state.prepare(query)?.query_map([key as i64], read)?.collect())
    }

    pub fn run_id(&self) -> Result<[u8; RUN_BYTES], NetError> {
        self.ask(|state| state.query_row("SELECT run_id FROM run", [], |row| row.get(0)))
    }

    /// In the order of their slots.
    pub fn devices(&self) -> Result<Vec<EnrolledDevice>, NetError> {
        let query = "SELECT slot, name, coin, samples, compute_secs, comm_mbit FROM devices \
                     WHERE slot >= ?1 ORDER BY slot";
        self.rows(query, 0, |row| {
            Ok(EnrolledDevice {
                slot: row.get::<_, i64>(0)? as usize,
                name: row.get(1)?,
                coin: row.get(2)?,
                samples: row.get(3)?,
                compute_secs: row.get(4)?,
                comm_mbit: row.get(5)?,
            })
        })
    }

    /// The number of plans, which is the number of the newest one.
    pub fn plans(&self) -> Result<u64, NetError> {
        self.count("SELECT count(*) FROM plans")
    }

    /// A plan, counted from 1.
    pub fn plan(&self, number: u64) -> Result<Option<StoredPlan>, NetError> {
        let query = "SELECT q, availability, weight, quiet_q, quiet_weight FROM plan_devices \
                     WHERE plan = ?1 ORDER BY slot";
        let mut devices = self.rows(query, number, |row| {
            let (q, availability, weight) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(PlannedDevice { q, availability, weight, quiet: pair(row, 3)? })
        })?;
        let query = "SELECT after_round, secs, reason, scheme, alpha, beta, expected_participants, \
                     expected_rounds, expected_round_secs, fleet_csv, plan_csv, costs FROM plans \
                     WHERE plan = ?1";
        let found = self.rows(query, number, |row| {
            Ok(StoredPlan {
                after_round: row.get::<_, i64>(0)? as u64,
                secs: row.get(1)?,
                reason: row.get(2)?,
                scheme: row.get(3)?,
                constants: pair(row, 4)?,
                devices: std::mem::take(&mut devices),
                fleet_csv: row.get(9)?,
                plan_csv: row.get(10)?,
                expected: Expected {
                    participants: row.get(6)?,
                    rounds: row.get(7)?,
                    round_secs: row.get(8)?,
                },
                costs: costs(row, 11)?,
            })
        })?;
        Ok(found.into_iter().next())
    }

    /// The number of the last round.
    pub fn rounds(&self) -> Result<u64, NetError> {
        self.count("SELECT coalesce(max(round), 0) FROM rounds")
    }

    /// A round, counted from 1.
    pub fn round(&self, number: u64) -> Result<Option<StoredRound>, NetError> {
        let query = "SELECT line, plan, secs, model_round, model_sha256, metrics \
                     FROM rounds JOIN records USING (seq) WHERE round = ?1";
        let found = self.rows(query, number, |row| {
            let Some(Line::Round(record)) = line(row)? else { return Err(rusqlite::Error::InvalidQuery) };
            Ok(StoredRound {
                record,
                plan: row.get::<_, i64>(1)? as u64,
                secs: row.get(2)?,
                model_round: row.get::<_, i64>(3)? as u64,
                model_sha256: row.get(4)?,
                evaluated: metrics(row, 5)?,
            })
        })?;
        Ok(found.into_iter().next())
    }

    /// The fate of every update of a round, in the order of slots.
    pub fn fates(&self, round: u64) -> Result<Vec<(usize, Fate)>, NetError> {
        let query =
            "SELECT slot, digest, bytes, train_loss, reason FROM updates WHERE round = ?1 ORDER BY slot";
        self.rows(query, round, |row| {
            let fate = match row.get(1)? {
                Some(digest) => Fate::Accepted {
                    digest,
                    bytes: row.get::<_, i64>(2)? as u64,
                    // SQL stores NaN as NULL.
                    train_loss: row.get::<_, Option<f64>>(3)?.unwrap_or(f64::NAN),
                },
                None => Fate::Lost { reason: row.get(4)? },
            };
            Ok((row.get::<_, i64>(0)? as usize, fate))
        })
    }

    /// Incidents that were kept, the oldest first.
    pub fn incidents(&self) -> Result<Vec<Incident>, NetError> {
        let query = "SELECT round, device, reason FROM incidents WHERE incident >= ?1 ORDER BY incident";
        self.rows(query, 0, |row| {
            Ok(Incident { round: row.get::<_, i64>(0)? as u64, device: row.get(1)?, reason: row.get(2)? })
        })
    }

    /// The first line of the records.
    pub fn header(&self) -> Result<Option<Header>, NetError> {
        let Some(Line::Header(header)) = self.line_of("header")? else { return Ok(None) };
        Ok(Some(header))
    }

    /// The evaluation of the first model, if it is committed.
    pub(super) fn initial(&self) -> Result<Option<Initial>, NetError> {
        let Some(Line::Initial(initial)) = self.line_of("initial")? else { return Ok(None) };
        Ok(Some(initial))
    }

    /// The last line of the records, if the run is over.
    pub fn end(&self) -> Result<Option<End>, NetError> {
        let Some(Line::End(end)) = self.line_of("end")? else { return Ok(None) };
        Ok(Some(end))
    }

    /// The newest model and the `memory` that the run keeps with it, checked against their digest; none before the
    /// first update. Fails where a server that runs meanwhile replaces the model.
    pub fn model(
        &self,
        params: &[(String, ParamSpec)],
        memory: &[&str],
    ) -> Result<Option<StoredModel>, NetError> {
        let last = self.round(self.rounds()?)?;
        let newest = last.and_then(|last| Some((last.model_round, last.model_sha256?)));
        let models = Models::new(&self.folder, params, memory);
        newest.map(|(round, sha256)| models.read(round, sha256)).transpose()
    }

    fn line_of(&self, kind: &str) -> Result<Option<Line>, NetError> {
        let query = "SELECT line FROM records WHERE kind = ?1 LIMIT 1";
        self.ask(|state| Ok(state.query_row(query, [kind], line).optional()?.flatten()))
    }

    fn count(&self, query: &str) -> Result<u64, NetError> {
        self.ask(|state| Ok(state.query_row(query, [], |row| row.get::<_, i64>(0))?.unsigned_abs()))
    }
}

/// The line in the first column, if it is one.
fn line(row: &Row<'_>) -> rusqlite::Result<Option<Line>> {
    Ok(serde_json::from_str(&row.get::<_, String>(0)?).ok())
}

/// The costs of rounds as JSON.
fn costs(row: &Row<'_>, at: usize) -> rusqlite::Result<RecordedCosts> {
    let costs = serde_json::from_str(&row.get::<_, String>(at)?);
    costs.map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// Metrics as JSON in a column that may be empty.
fn metrics(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Metrics>> {
    let text = row.get::<_, Option<String>>(at)?;
    let metrics = text.map(|text| serde_json::from_str(&text)).transpose();
    metrics.map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// Two columns that have values together or not at all.
fn pair(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<[f64; 2]>> {
    Ok(row.get::<_, Option<f64>>(at)?.zip(row.get::<_, Option<f64>>(at + 1)?).map(<[f64; 2]>::from))
}
