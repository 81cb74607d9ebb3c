//! The database of a run: its tables, how it is opened, and its errors.
//!
//! Every commit writes the write-ahead log to the disk, so a committed round survives a kill and a power cut. Other
//! programs may read the file (`sqlite3 state.sqlite`) while the server runs.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use crate::error::NetError;

/// The file, in the run's folder.
pub const STATE: &str = "state.sqlite";

/// The version of the tables below. It changes with the meaning of any column.
pub const VERSION: i64 = 6;

/// The mark of fedflip's files: `fedf`.
const APPLICATION: i64 = 0x6665_6466;

/// A commit waits this long for another program that reads.
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
-- The costs of rounds that a plan counts on are JSON, as in the records.
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
    costs TEXT NOT NULL,
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
-- model_round names the file, and is 0 before anybody has moved the model. metrics are those of the model as
-- JSON, and of estimates their confidence limits: the values that a stop rule believes.
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

/// Opens the file of `folder`, and says whether it holds a run; an empty file does not.
pub(super) fn open(folder: &Path, flags: OpenFlags) -> Result<(Connection, bool), NetError> {
    let connection = Connection::open_with_flags(folder.join(STATE), flags)?;
    connection.busy_timeout(BUSY)?;
    // A state that is refused stays as it was, with its log, for whoever examines it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let holds_run = checked(&connection)?;
    Ok((connection, holds_run))
}

/// From here on commits reach the disk. This is the first change of the file.
pub(super) fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
}

/// Makes the tables; to be called in a transaction.
pub(super) fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Refuses a file of another program, of another version or with damage; says whether it holds a run.
fn checked(connection: &Connection) -> Result<bool, NetError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(false);
    }
    if number("application_id")? != APPLICATION {
        return Err(damaged("is a database of another program"));
    }
    let found = number("user_version")?;
    if found != VERSION {
        return Err(NetError::StateVersion { path: STATE.to_owned(), found, known: VERSION });
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(damaged(format!("is damaged: {verdict}")));
    }
    match other_table(connection)? {
        Some(table) => Err(damaged(format!("is damaged: the table {table} is not as it was made"))),
        None => Ok(true),
    }
}

/// A table that is missing, or that differs from this version's. Tables that other programs added do not matter.
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

impl From<rusqlite::Error> for NetError {
    fn from(source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            // Only a server writes rows: a row that is missing or of another type, which has no code, is damage too.
            None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch) => {
                damaged(format!("is damaged: {source}"))
            }
            Some(_) => Self::Database { path: STATE.to_owned(), source },
        }
    }
}

pub(super) fn damaged(problem: impl Into<String>) -> NetError {
    NetError::damaged(STATE, problem)
}

/// Errors of the database get the path of their file.
pub(super) fn in_folder<T>(folder: &Path, done: Result<T, NetError>) -> Result<T, NetError> {
    done.map_err(|mut error| {
        if let NetError::Damaged { path, .. }
        | NetError::Database { path, .. }
        | NetError::StateVersion { path, .. } = &mut error
            && path == STATE
        {
            *path = folder.join(STATE).display().to_string();
        }
        error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_wait_for_the_disk() {
        let desk = tempfile::tempdir().unwrap();
        let (connection, holds_run) = open(desk.path(), OpenFlags::default()).unwrap();
        assert!(!holds_run);
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
        let error = open(desk.path(), OpenFlags::default()).unwrap_err().to_string();
        assert!(error.contains("state.sqlite: is a database of another program"), "{error}");
    }
}
