//! Reading the state back, for whoever writes it and for whoever looks on.

use fedflip_fleet::Metrics;
use fedflip_plan::Expected;
use fedflip_record::{End, Header, Initial, Line, Round};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use super::rows::{EnrolledDevice, Fate, StoredPlan};
use crate::wire::numbers::VectorDigest;

/// A round, as it was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRound {
    pub record: Round,
    /// Under which plan; counted from 1.
    pub plan: u64,
    /// Time since the run began, after it.
    pub secs: f64,
    /// The last round up to this one that moved the model; 0 if none did.
    pub model_round: u64,
    /// SHA-256 of the model after it and of what the server remembers with it, one after the other; none before
    /// anybody moved it.
    pub model_sha256: Option<VectorDigest>,
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<Metrics>,
}

/// A refusal, or whatever else was worth a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    pub round: u64,
    /// By which device, if it is known.
    pub device: Option<String>,
    pub reason: String,
}

/// In the order of their slots.
pub(super) fn devices(connection: &Connection) -> rusqlite::Result<Vec<EnrolledDevice>> {
    let columns = "slot, name, coin, samples, compute_secs, comm_mbit";
    let mut statement = connection.prepare(&format!("SELECT {columns} FROM devices ORDER BY slot"))?;
    let rows = statement.query_map([], |row| {
        Ok(EnrolledDevice {
            slot: row.get::<_, i64>(0)? as usize,
            name: row.get(1)?,
            coin: row.get(2)?,
            samples: row.get(3)?,
            compute_secs: row.get(4)?,
            comm_mbit: row.get(5)?,
        })
    })?;
    rows.collect()
}

/// How many there are, counted from 1: the newest one's number.
pub(super) fn plans(connection: &Connection) -> rusqlite::Result<u64> {
    count(connection, "SELECT count(*) FROM plans")
}

pub(super) fn plan(connection: &Connection, number: u64) -> rusqlite::Result<Option<StoredPlan>> {
    let columns = "after_round, secs, reason, scheme, alpha, beta, expected_participants, expected_rounds, \
                   expected_round_secs, fleet_csv, plan_csv";
    let found = connection
        .query_row(&format!("SELECT {columns} FROM plans WHERE plan = ?1"), [number as i64], |row| {
            Ok(StoredPlan {
                after_round: row.get::<_, i64>(0)? as u64,
                secs: row.get(1)?,
                reason: row.get(2)?,
                scheme: row.get(3)?,
                constants: pair(row, 4)?,
                q: Vec::new(),
                availability: Vec::new(),
                weights: Vec::new(),
                quiet: None,
                fleet_csv: row.get(9)?,
                plan_csv: row.get(10)?,
                expected: Expected {
                    participants: row.get(6)?,
                    rounds: row.get(7)?,
                    round_secs: row.get(8)?,
                },
            })
        })
        .optional()?;
    let Some(mut plan) = found else { return Ok(None) };
    let mut statement = connection
        .prepare("SELECT q, availability, weight, quiet_q, quiet_weight FROM plan_devices WHERE plan = ?1 ORDER BY slot")?;
    let mut rows = statement.query([number as i64])?;
    while let Some(row) = rows.next()? {
        plan.q.push(row.get(0)?);
        plan.availability.push(row.get(1)?);
        plan.weights.push(row.get(2)?);
        if let Some([quiet_q, quiet_weight]) = pair(row, 3)? {
            let quiet = plan.quiet.get_or_insert_default();
            quiet.q.push(quiet_q);
            quiet.weights.push(quiet_weight);
        }
    }
    Ok(Some(plan))
}

/// The number of the last one.
pub(super) fn rounds(connection: &Connection) -> rusqlite::Result<u64> {
    count(connection, "SELECT coalesce(max(round), 0) FROM rounds")
}

pub(super) fn round(connection: &Connection, number: u64) -> rusqlite::Result<Option<StoredRound>> {
    let query = "SELECT line, plan, secs, model_round, model_sha256, metrics \
                 FROM rounds JOIN records USING (seq) WHERE round = ?1";
    let found = connection.query_row(query, [number as i64], |row| {
        let Some(Line::Round(record)) = line(row)? else { return Err(rusqlite::Error::InvalidQuery) };
        Ok(StoredRound {
            record,
            plan: row.get::<_, i64>(1)? as u64,
            secs: row.get(2)?,
            model_round: row.get::<_, i64>(3)? as u64,
            model_sha256: row.get(4)?,
            evaluated: metrics(row, 5)?,
        })
    });
    found.optional()
}

/// Of everybody who took part, in the order of their slots.
pub(super) fn fates(connection: &Connection, round: u64) -> rusqlite::Result<Vec<(usize, Fate)>> {
    let query = "SELECT slot, digest, bytes, train_loss, reason FROM updates WHERE round = ?1 ORDER BY slot";
    let mut statement = connection.prepare(query)?;
    let rows = statement.query_map([round as i64], |row| {
        let fate = match row.get(1)? {
            Some(digest) => Fate::Accepted {
                digest,
                bytes: row.get::<_, i64>(2)? as u64,
                // What is no number is nothing in SQL.
                train_loss: row.get::<_, Option<f64>>(3)?.unwrap_or(f64::NAN),
            },
            None => Fate::Lost { reason: row.get(4)? },
        };
        Ok((row.get::<_, i64>(0)? as usize, fate))
    })?;
    rows.collect()
}

/// The oldest first.
pub(super) fn incidents(connection: &Connection) -> rusqlite::Result<Vec<Incident>> {
    let mut statement =
        connection.prepare("SELECT round, device, reason FROM incidents ORDER BY incident")?;
    let rows = statement.query_map([], |row| {
        Ok(Incident { round: row.get::<_, i64>(0)? as u64, device: row.get(1)?, reason: row.get(2)? })
    })?;
    rows.collect()
}

pub(super) fn header(connection: &Connection) -> rusqlite::Result<Option<Header>> {
    Ok(line_of(connection, "header")?.and_then(|line| match line {
        Line::Header(header) => Some(header),
        _ => None,
    }))
}

/// The evaluation of the first model, if it is committed.
pub(super) fn initial(connection: &Connection) -> rusqlite::Result<Option<Initial>> {
    Ok(line_of(connection, "initial")?.and_then(|line| match line {
        Line::Initial(initial) => Some(initial),
        _ => None,
    }))
}

pub(super) fn end(connection: &Connection) -> rusqlite::Result<Option<End>> {
    Ok(line_of(connection, "end")?.and_then(|line| match line {
        Line::End(end) => Some(end),
        _ => None,
    }))
}

fn line_of(connection: &Connection, kind: &str) -> rusqlite::Result<Option<Line>> {
    let query = "SELECT line FROM records WHERE kind = ?1 LIMIT 1";
    Ok(connection.query_row(query, [kind], line).optional()?.flatten())
}

/// The line in the first column, if it is one.
fn line(row: &Row<'_>) -> rusqlite::Result<Option<Line>> {
    Ok(serde_json::from_str(&row.get::<_, String>(0)?).ok())
}

/// Metrics as JSON in a column that may be empty.
fn metrics(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Metrics>> {
    let text = row.get::<_, Option<String>>(at)?;
    let metrics = text.map(|text| serde_json::from_str(&text)).transpose();
    metrics.map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error)))
}

/// Two columns that are there together or not at all.
fn pair(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<[f64; 2]>> {
    Ok(row.get::<_, Option<f64>>(at)?.zip(row.get::<_, Option<f64>>(at + 1)?).map(<[f64; 2]>::from))
}

fn count(connection: &Connection, query: &str) -> rusqlite::Result<u64> {
    Ok(connection.query_row(query, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
}
