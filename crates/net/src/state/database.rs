//! The database of a run: how it is opened, what is in it, and what its errors mean.
//!
//! A write-ahead log that is brought to the disk with every commit: what was committed is there after a kill
//! and after a power cut, and others may read (`sqlite3 state.sqlite`) while the server runs.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use crate::error::NetError;

/// The file, in the run's folder.
pub const STATE: &str = "state.sqlite";

/// Of the tables below; it changes with the meaning of any column.
pub const VERSION: i64 = 4;

/// Says whose file it is: `fedf`.
const APPLICATION: i64 = 0x6665_6466;

/// How long a commit waits for somebody who reads with another program.
const BUSY: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE run (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    run_id BLOB NOT NULL CHECK (length(run_id) = 16),
    parameters INTEGER NOT NULL,
    scenario TEXT NOT NULL,
    measures TEXT,
    norms TEXT
) STRICT;
CREATE TABLE devices (
    slot INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    coin BLOB NOT NULL CHECK (length(coin) = 32),
    samples REAL NOT NULL,
    compute_secs REAL NOT NULL,
    comm_mbit REAL NOT NULL
) STRICT;
-- The lines of records.jsonl, in order. A link is the digest of the link before it and of what came with the line.
CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    line TEXT NOT NULL,
    link BLOB CHECK (length(link) = 32)
) STRICT;
CREATE TABLE plans (
    plan INTEGER PRIMARY KEY,
    after_round INTEGER NOT NULL,
    secs REAL NOT NULL,
    reason TEXT NOT NULL,
    scheme TEXT NOT NULL,
    alpha REAL,
    beta REAL,
    expected_participants REAL NOT NULL,
    expected_rounds REAL,
    expected_round_secs REAL,
    fleet_csv BLOB NOT NULL,
    plan_csv BLOB NOT NULL
) STRICT;
CREATE TABLE plan_devices (
    plan INTEGER NOT NULL REFERENCES plans,
    slot INTEGER NOT NULL REFERENCES devices,
    q REAL NOT NULL,
    availability REAL NOT NULL,
    weight REAL NOT NULL,
    quiet_q REAL,
    quiet_weight REAL,
    CHECK ((quiet_q IS NULL) = (quiet_weight IS NULL)),
    PRIMARY KEY (plan, slot)
) STRICT, WITHOUT ROWID;
-- model_round names the file, and is 0 before anybody has moved the model. metrics are those of the model as JSON.
CREATE TABLE rounds (
    round INTEGER PRIMARY KEY,
    plan INTEGER NOT NULL REFERENCES plans,
    seq INTEGER NOT NULL REFERENCES records,
    secs REAL NOT NULL,
    model_round INTEGER NOT NULL,
    model_sha256 BLOB CHECK (length(model_sha256) = 32),
    metrics TEXT
) STRICT;
-- Of everybody who took part: what was aggregated has a digest, what was not has a reason.
CREATE TABLE updates (
    round INTEGER NOT NULL REFERENCES rounds,
    slot INTEGER NOT NULL REFERENCES devices,
    digest BLOB CHECK (length(digest) = 32),
    bytes INTEGER,
    train_loss REAL,
    reason TEXT,
    PRIMARY KEY (round, slot),
    CHECK ((digest IS NULL) = (bytes IS NULL) AND (digest IS NULL) = (reason IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE incidents (
    incident INTEGER PRIMARY KEY,
    round INTEGER NOT NULL,
    device TEXT,
    reason TEXT NOT NULL
) STRICT;
-- The digests that the tables must have.
CREATE TABLE seals (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    records BLOB NOT NULL,
    run BLOB NOT NULL,
    devices BLOB NOT NULL,
    incidents BLOB NOT NULL
) STRICT;
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Empty,
    Run,
}

/// Opens the file of `folder` to write, and makes an empty one where it is missing.
pub(super) fn open(folder: &Path) -> Result<(Connection, Found), NetError> {
    let path = folder.join(STATE);
    let refuse = refusal(&path);
    let connection = Connection::open(&path).map_err(&refuse)?;
    connection.busy_timeout(BUSY).map_err(&refuse)?;
    // Whoever looks into a state that is refused finds it as it was, log and all.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(&refuse)?;
    let found = checked(&connection, &path)?;
    Ok((connection, found))
}

/// From here on what is committed is on the disk. The first thing that changes the file.
pub(super) fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
}

/// Opens the file of `folder` to read alone; what a server does meanwhile is not disturbed.
pub(super) fn open_read_only(folder: &Path) -> Result<Connection, NetError> {
    let path = folder.join(STATE);
    let refuse = refusal(&path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(&refuse)?;
    connection.busy_timeout(BUSY).map_err(&refuse)?;
    match checked(&connection, &path)? {
        Found::Run => Ok(connection),
        Found::Empty => Err(damaged(&path, "holds no run".to_owned())),
    }
}

/// Makes the tables; to be called in a transaction.
pub(super) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Whose file it is, of which version, and whether it is whole.
fn checked(connection: &Connection, path: &Path) -> Result<Found, NetError> {
    let refuse = refusal(path);
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(&refuse)?;
    if tables == 0 {
        return Ok(Found::Empty);
    }
    if number("application_id").map_err(&refuse)? != APPLICATION {
        return Err(damaged(path, "is a database of another program".to_owned()));
    }
    let found = number("user_version").map_err(&refuse)?;
    if found != VERSION {
        return Err(NetError::StateVersion { path: path.display().to_string(), found, known: VERSION });
    }
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(&refuse)?;
    if verdict != "ok" {
        return Err(damaged(path, format!("is damaged: {verdict}")));
    }
    match other_table(connection).map_err(&refuse)? {
        Some(table) => Err(damaged(path, format!("is damaged: the table {table} is not as it was made"))),
        None => Ok(Found::Run),
    }
}

/// A table that is missing or differs from those of this version; what others added is none of our business.
fn other_table(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let wanted = Connection::open_in_memory()?;
    wanted.execute_batch(TABLES)?;
    let mut tables = wanted.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")?;
    let mut tables = tables.query([])?;
    let query = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    while let Some(table) = tables.next()? {
        let (name, sql): (String, String) = (table.get(0)?, table.get(1)?);
        let found: Option<String> = connection.query_row(query, [&name], |row| row.get(0)).optional()?;
        if found != Some(sql) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// For `map_err`: damage is said to be damage, all else is what the database says.
pub(super) fn refusal(path: &Path) -> impl Fn(rusqlite::Error) -> NetError + use<> {
    let path = path.display().to_string();
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch) => {
            NetError::Damaged { path: path.clone(), problem: format!("is damaged: {source}") }
        }
        // Rows that are not there or not of their type: nobody but us writes them.
        None => NetError::Damaged { path: path.clone(), problem: format!("is damaged: {source}") },
        Some(_) => NetError::Database { path: path.clone(), source },
    }
}

pub(super) fn damaged(path: &Path, problem: String) -> NetError {
    NetError::Damaged { path: path.display().to_string(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_wait_for_the_disk() {
        let desk = tempfile::tempdir().unwrap();
        let (connection, found) = open(desk.path()).unwrap();
        assert_eq!(found, Found::Empty);
        make_durable(&connection).unwrap();
        let number =
            |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((number("synchronous"), number("foreign_keys")), (2, 1), "FULL is 2");
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn the_database_of_another_program_is_refused() {
        let desk = tempfile::tempdir().unwrap();
        let other = Connection::open(desk.path().join(STATE)).unwrap();
        other.execute_batch("CREATE TABLE letters (text TEXT)").unwrap();
        let error = open(desk.path()).unwrap_err().to_string();
        assert!(error.contains("state.sqlite: is a database of another program"), "{error}");
    }
}
