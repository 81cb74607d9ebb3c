//! The digests of the whole state: written with every transaction, and checked before a state is used.
//!
//! They cover every bit of the tables: records, plans, rounds and updates by the [`Chain`]; the run's own row, devices
//! and incidents, which change, by a [`Sum`] each. The digests are in the only row of `seals`.

use std::time::Duration;

use rusqlite::{Connection, params};
use tokio::time::Instant;
use tracing::info;

use super::chain::{Chain, ChainRows};
use super::database::damaged;
use super::digests::Sum;
use crate::error::NetError;

/// The log mentions a check that takes longer than this, and repeats it after as much time.
const LONG: Duration = Duration::from_secs(2);
/// Records from one look at the clock to the next.
const LOOK_EVERY: u64 = 4096;

const RUN: &str = "SELECT * FROM run";

/// The digests of everything in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seals {
    pub chain: Chain,
    pub run: Sum,
    pub devices: Sum,
    pub incidents: Sum,
}

impl Seals {
    /// The digests of a new run.
    pub(super) fn found(state: &Connection) -> rusqlite::Result<Self> {
        let run_id = state.query_row("SELECT run_id FROM run", [], |row| row.get(0))?;
        let (devices, incidents) = (Sum::default(), Sum::default());
        let seals = Self { chain: Chain::of_run(&run_id), run: Sum::of(state, RUN, [])?, devices, incidents };
        state.execute("INSERT INTO seals VALUES (1, x'', x'', x'', x'')", [])?;
        seals.write(state)?;
        Ok(seals)
    }

    /// Extends the chain by the record that was just written, and stores its link.
    pub(super) fn append_record(&mut self, state: &Connection) -> rusqlite::Result<()> {
        let next = self.chain.next(&mut ChainRows::new(state)?)?;
        (self.chain, _) = next.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        let of_record = params![self.chain.link, self.chain.records as i64];
        state.execute("UPDATE records SET link = ?1 WHERE seq = ?2", of_record).map(|_| ())
    }

    /// Shortens the chain by the last record, which belonged to neither a plan nor a round.
    pub(super) fn take_back_record(&mut self, state: &Connection) -> rusqlite::Result<()> {
        self.chain.records -= 1;
        let query = "SELECT link FROM records WHERE seq = ?1";
        self.chain.link = state.query_row(query, [self.chain.records as i64], |row| row.get(0))?;
        Ok(())
    }

    /// Updates the digest of the run's own row.
    pub(super) fn renew_run(&mut self, state: &Connection) -> rusqlite::Result<()> {
        self.run = Sum::of(state, RUN, [])?;
        Ok(())
    }

    /// Stores the digests. Call it at the end of a transaction.
    pub(super) fn write(&self, state: &Connection) -> rusqlite::Result<()> {
        let update = "UPDATE seals SET records = ?1, run = ?2, devices = ?3, incidents = ?4";
        let digests = params![self.chain.link, self.run.0, self.devices.0, self.incidents.0];
        state.execute(update, digests).map(|_| ())
    }

    /// Computes all digests again; a digest that differs from the stored one means damage.
    pub(super) fn checked(state: &Connection) -> Result<Self, NetError> {
        // A transaction reads one moment, also while a server writes.
        let moment = state.unchecked_transaction()?;
        let run_id = moment.query_row("SELECT run_id FROM run", [], |row| row.get(0))?;
        let seals = Self {
            chain: checked_chain(&moment, Chain::of_run(&run_id))?,
            run: Sum::of(&moment, RUN, [])?,
            devices: Sum::of(&moment, "SELECT * FROM devices", [])?,
            incidents: Sum::of(&moment, "SELECT * FROM incidents", [])?,
        };
        let query = "SELECT records, run, devices, incidents FROM seals WHERE one = 1";
        let stored = moment.query_row(query, [], |row| {
            Ok([row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
        });
        let found = [
            ("records", seals.chain.link),
            ("run", seals.run.0),
            ("devices", seals.devices.0),
            ("incidents", seals.incidents.0),
        ];
        for ((table, digest), stored) in found.iter().zip(stored?) {
            if digest[..] != stored[..] {
                return Err(damaged(format!("is damaged: the table {table} is not what was committed")));
            }
        }
        Ok(seals)
    }
}

/// Checks the whole chain, link by link, and names the round that has changed.
fn checked_chain(state: &Connection, first: Chain) -> Result<Chain, NetError> {
    let mut rows = ChainRows::new(state)?;
    let mut chain = first;
    let mut told_at = Instant::now();
    loop {
        let line = chain.records + 1;
        let bad = |what: String| {
            damaged(format!("is damaged: {what} (line {line} of the records) is not what was committed"))
        };
        let (next, stored) = match chain.next(&mut rows) {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(rusqlite::Error::QueryReturnedNoRows) => return Err(bad(place(&chain, &chain))),
            Err(error) => return Err(error.into()),
        };
        if stored != Some(next.link) {
            return Err(bad(place(&chain, &next)));
        }
        chain = next;
        if line.is_multiple_of(LOOK_EVERY) && told_at.elapsed() > LONG {
            info!(rounds = chain.rounds, "the state is being checked");
            told_at = Instant::now();
        }
    }
    match chain.table_with_strays(state)? {
        Some(table) => Err(damaged(format!("is damaged: the table {table} has rows of no record"))),
        None => Ok(chain),
    }
}

fn place(before: &Chain, with_it: &Chain) -> String {
    if with_it.rounds > before.rounds {
        format!("round {}", with_it.rounds)
    } else if with_it.plans > before.plans {
        format!("plan {}", with_it.plans)
    } else {
        format!("what follows round {}", before.rounds)
    }
}
