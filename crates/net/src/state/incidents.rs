//! Refusals and their reasons, within bounds: a peer that is refused a million times fills neither the disk nor the
//! memory, and does not make the server wait for the disk.

use rusqlite::{Connection, params};

use super::digests::Sum;
use super::rows::Incident;
use crate::wire::printable;

/// The number of incidents that the database keeps: the newest ones.
const KEPT: i64 = 10_000;
/// The number of incidents that wait for the next commit; more of them are only counted.
const WAITING_MAX: usize = 1_000;

/// Incidents that are written with the next transaction.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    waiting: Vec<Incident>,
    dropped: u64,
}

impl Incidents {
    pub(super) fn note(&mut self, round: u64, device: Option<&str>, reason: &str) {
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(Incident { round, device: device.map(printable), reason: printable(reason) });
        } else {
            self.dropped += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes the incidents and updates the table's sum. Call it in a transaction, and [`Self::written`] after that.
    pub(super) fn write(&self, connection: &Connection, sum: &mut Sum) -> rusqlite::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let known = last(connection)?;
        let mut insert =
            connection.prepare("INSERT INTO incidents (round, device, reason) VALUES (?1, ?2, ?3)")?;
        for incident in &self.waiting {
            insert.execute(params![incident.round as i64, incident.device, incident.reason])?;
        }
        if let (1.., Some(newest)) = (self.dropped, self.waiting.last()) {
            let reason = format!("and {} more, which were not kept", self.dropped);
            insert.execute(params![newest.round as i64, None::<String>, reason])?;
        }
        sum.toggle(Sum::of(connection, "SELECT * FROM incidents WHERE incident > ?1", [known])?);
        let too_old = last(connection)? - KEPT;
        sum.toggle(Sum::of(connection, "SELECT * FROM incidents WHERE incident <= ?1", [too_old])?);
        connection.execute("DELETE FROM incidents WHERE incident <= ?1", [too_old]).map(|_| ())
    }

    pub(super) fn written(&mut self) {
        self.waiting.clear();
        self.dropped = 0;
    }
}

/// The number of the newest incident in the database; 0 without any.
fn last(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(incident), 0) FROM incidents", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_peer_are_cut_and_cleaned() {
        assert_eq!(printable("a\u{1b}[31mb\nc"), "a[31mbc");
        assert_eq!(printable(&"ü".repeat(1_000)).chars().count(), 200);
    }

    #[test]
    fn the_newest_stay_and_memory_is_bounded() {
        let database = Connection::open_in_memory().unwrap();
        super::super::database::make_tables(&database).unwrap();
        let (mut incidents, mut sum) = (Incidents::default(), Sum::default());
        for round in 1..=12 {
            for _ in 0..2_000 {
                incidents.note(round, Some("phone"), "too loud");
            }
            incidents.write(&database, &mut sum).unwrap();
            incidents.written();
        }
        assert_eq!(sum, Sum::of(&database, "SELECT * FROM incidents WHERE incident > ?1", [0]).unwrap());
        let count: i64 = database.query_row("SELECT count(*) FROM incidents", [], |row| row.get(0)).unwrap();
        assert_eq!(count, KEPT);
        let query = "SELECT round, reason FROM incidents ORDER BY incident DESC LIMIT 1";
        let last = database.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(last, (12_i64, "and 1000 more, which were not kept".to_owned()));
    }
}
