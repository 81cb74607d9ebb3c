//! The hash chain over rows that are only appended: records, each with its plan or its round.
//!
//! A link is the SHA-256 of the link before it and of every column of the rows that its transaction appended. The
//! first link is the digest of the run's id. Links are computed from rows as the database returns them, so that the
//! server that writes them and the program that checks them compute the same.

use rusqlite::{Connection, Error, Statement};

use super::digests::{push_columns, push_rows};
use crate::coin::RUN_BYTES;
use crate::wire::numbers::{VectorDigest, digest_of_bytes};

/// The last link, and the number of rows that the chain covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub link: VectorDigest,
    pub records: u64,
    pub plans: u64,
    pub rounds: u64,
}

impl Chain {
    /// The chain of a run that has no records yet.
    pub(super) fn of_run(run_id: &[u8; RUN_BYTES]) -> Self {
        Self { link: digest_of_bytes(run_id), records: 0, plans: 0, rounds: 0 }
    }

    /// The chain with one record more, as the database has it, and the link that is stored with the record; none if
    /// there is no such record.
    pub(super) fn next(
        &self,
        rows: &mut ChainRows<'_>,
    ) -> rusqlite::Result<Option<(Self, Option<VectorDigest>)>> {
        let mut next = Self { records: self.records + 1, ..*self };
        let mut bytes = self.link.to_vec();
        let mut found = rows.record.query([next.records as i64])?;
        let Some(record) = found.next()? else { return Ok(None) };
        push_columns(&mut bytes, record, 3)?;
        let (kind, stored): (String, _) = (record.get(1)?, record.get(3)?);
        let appended = match kind.as_str() {
            "header" | "replan" => {
                next.plans += 1;
                Some((&mut rows.plan, &mut rows.plan_devices, next.plans))
            }
            "round" => {
                next.rounds += 1;
                Some((&mut rows.round, &mut rows.updates, next.rounds))
            }
            _ => None,
        };
        if let Some((one, of_devices, number)) = appended {
            if push_rows(&mut bytes, one, number as i64)? != 1 {
                return Err(Error::QueryReturnedNoRows);
            }
            push_rows(&mut bytes, of_devices, number as i64)?;
        }
        next.link = digest_of_bytes(&bytes);
        Ok(Some((next, stored)))
    }

    /// A table with rows that belong to no record.
    pub(super) fn table_with_strays(&self, state: &Connection) -> rusqlite::Result<Option<&'static str>> {
        let tables = [
            ("records", "seq", self.records),
            ("plans", "plan", self.plans),
            ("plan_devices", "plan", self.plans),
            ("rounds", "round", self.rounds),
            ("updates", "round", self.rounds),
        ];
        for (table, key, count) in tables {
            let query = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {key} < 1 OR {key} > ?1)");
            if state.query_row(&query, [count as i64], |row| row.get(0))? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }
}

/// The statements that find the rows of a link.
pub(super) struct ChainRows<'a> {
    record: Statement<'a>,
    plan: Statement<'a>,
    plan_devices: Statement<'a>,
    round: Statement<'a>,
    updates: Statement<'a>,
}

impl<'a> ChainRows<'a> {
    pub(super) fn new(state: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            record: state.prepare("SELECT seq, kind, line, link FROM records WHERE seq = ?1")?,
            plan: state.prepare("SELECT * FROM plans WHERE plan = ?1")?,
            plan_devices: state.prepare("SELECT * FROM plan_devices WHERE plan = ?1 ORDER BY slot")?,
            round: state.prepare("SELECT * FROM rounds WHERE round = ?1")?,
            updates: state.prepare("SELECT * FROM updates WHERE round = ?1 ORDER BY slot")?,
        })
    }
}
