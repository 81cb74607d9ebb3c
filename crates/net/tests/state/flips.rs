//! Bits that change on a disk: a state that differs in any of them is refused by name, or says exactly what it said
//! before; and `records.jsonl` stays what it was.

use std::fs;
use std::path::Path;

use fedflip_net::NetError;
use fedflip_net::state::{EnrolledDevice, Fate, Incident, Resumed, StateView, StoredPlan, StoredRound};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use crate::script::{apply, open, script};

const RECORDS: &str = "records.jsonl";
const STATE: &str = "state.sqlite";

/// All that a state tells those who continue with it and those who look on.
#[derive(Debug, PartialEq)]
struct Told {
    resumed: Resumed,
    devices: Vec<EnrolledDevice>,
    plans: Vec<Option<StoredPlan>>,
    rounds: Vec<Option<StoredRound>>,
    fates: Vec<Vec<(usize, Fate)>>,
    incidents: Vec<Incident>,
}

fn told(folder: &Path) -> Result<Told, NetError> {
    let (state, resumed) = open(folder)?;
    drop(state);
    let view = StateView::open(folder)?;
    Ok(Told {
        resumed,
        devices: view.devices()?,
        plans: (1..=view.plans()?).map(|plan| view.plan(plan)).collect::<Result<_, _>>()?,
        rounds: (1..=view.rounds()?).map(|round| view.round(round)).collect::<Result<_, _>>()?,
        fates: (1..=view.rounds()?).map(|round| view.fates(round)).collect::<Result<_, _>>()?,
        incidents: view.incidents()?,
    })
}

/// A run that is over, with all its log in the database.
struct Whole {
    desk: TempDir,
    state: Vec<u8>,
    records: Vec<u8>,
}

impl Whole {
    fn new() -> Self {
        let desk = tempfile::tempdir().unwrap();
        let (mut state, _) = open(desk.path()).unwrap();
        for (at, operation) in script().iter().enumerate() {
            if at % 3 == 2 {
                state.incident(at as u64, Some("phone-1"), "false_coin");
            }
            apply(&mut state, operation).unwrap();
        }
        drop(state);
        let read = |name| fs::read(desk.path().join(name)).unwrap();
        assert!(!desk.path().join("state.sqlite-wal").exists(), "a state that was closed has no log");
        Self { state: read(STATE), records: read(RECORDS), desk }
    }

    /// Lays out another database in place of the one that was left.
    fn lay_out(&self, state: &[u8]) {
        for name in ["state.sqlite-wal", "state.sqlite-shm"] {
            let _ = fs::remove_file(self.desk.path().join(name));
        }
        fs::write(self.desk.path().join(STATE), state).unwrap();
    }

    fn refused_with(&self, error: &NetError, when: &str) {
        assert!(error.to_string().contains(STATE), "{when}: {error}");
        assert!(!error.hint().is_empty());
        let records = fs::read(self.desk.path().join(RECORDS)).unwrap();
        assert!(records == self.records, "{when}: the records stay");
    }

    fn change(&self, sql: &str) -> Connection {
        let database = Connection::open(self.desk.path().join(STATE)).unwrap();
        database.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;").unwrap();
        database.execute_batch(sql).unwrap();
        database
    }
}

/// Another value of the same type.
fn other(value: Value) -> Value {
    match value {
        Value::Null => Value::Integer(7),
        Value::Integer(number) => Value::Integer(number + 1000),
        Value::Real(number) => Value::Real(f64::from_bits(number.to_bits() ^ 1)),
        Value::Text(text) => {
            let mut bytes = text.into_bytes();
            let last = bytes.len() - 1;
            bytes[last] ^= 0x10;
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        Value::Blob(mut bytes) => {
            bytes[0] ^= 1;
            Value::Blob(bytes)
        }
    }
}

/// The keys of each table.
const TABLES: [(&str, &str); 9] = [
    ("run", "one"),
    ("devices", "slot"),
    ("records", "seq"),
    ("plans", "plan"),
    ("plan_devices", "plan, slot"),
    ("rounds", "round"),
    ("updates", "round, slot"),
    ("incidents", "incident"),
    ("seals", "one"),
];

#[test]
fn no_cell_of_any_table_can_change_and_no_row_can_go() {
    let whole = Whole::new();
    let refused = |when: &str| {
        let error = told(whole.desk.path()).expect_err(when);
        whole.refused_with(&error, when);
        assert!(StateView::open(whole.desk.path()).is_err(), "{when}: nor for those who look on");
        whole.lay_out(&whole.state);
    };
    let mut cells = 0;
    for (table, keys) in TABLES {
        let database = Connection::open(whole.desk.path().join(STATE)).unwrap();
        let mut statement = database.prepare(&format!("SELECT * FROM {table} ORDER BY {keys}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query_map([], |row| (0..columns.len()).map(|column| row.get(column)).collect());
        let rows: Vec<Vec<Value>> = rows.unwrap().collect::<Result<_, _>>().unwrap();
        drop(statement);
        drop(database);
        assert!(!rows.is_empty(), "{table}");
        for row in rows {
            let at = |key: &str| match &row[columns.iter().position(|column| column == key).unwrap()] {
                Value::Integer(number) => format!("{key} = {number}"),
                other => panic!("{table}.{key}: {other:?}"),
            };
            let place = keys.split(", ").map(at).collect::<Vec<_>>().join(" AND ");
            for (column, value) in columns.iter().zip(&row) {
                let database = whole.change("");
                let update = format!("UPDATE {table} SET {column} = ?1 WHERE {place}");
                let changed = database.execute(&update, [other(value.clone())]);
                // A column of bytes that has none takes no number.
                let changed = match changed {
                    Err(_) if *value == Value::Null => database.execute(&update, [vec![7_u8; 32]]),
                    changed => changed,
                };
                assert_eq!(changed.unwrap(), 1, "{update}");
                drop(database);
                refused(&format!("{table}.{column} at {place}"));
                cells += 1;
            }
            drop(whole.change(&format!("DELETE FROM {table} WHERE {place}")));
            refused(&format!("{table} without {place}"));
        }
    }
    assert!(cells > 250, "{cells}");
}

#[test]
fn the_round_that_has_changed_is_named() {
    let whole = Whole::new();
    for (sql, said) in [
        ("UPDATE rounds SET metrics = '{}' WHERE round = 3", "round 3 (line 6 of the records)"),
        (
            "UPDATE updates SET train_loss = 0.1 WHERE round = 2 AND slot = 1",
            "round 2 (line 4 of the records)",
        ),
        ("UPDATE plan_devices SET q = 0.9 WHERE plan = 2 AND slot = 1", "plan 2 (line 5 of the records)"),
        ("UPDATE devices SET coin = zeroblob(32) WHERE slot = 1", "the table devices"),
        ("UPDATE run SET measures = '[7]'", "the table run"),
        ("UPDATE run SET norms = '{}'", "the table run"),
        ("DELETE FROM incidents WHERE incident = 1", "the table incidents"),
        ("DELETE FROM records WHERE kind = 'end'", "the table records"),
        ("INSERT INTO updates VALUES (99, 0, NULL, NULL, NULL, 'deadline')", "the table updates"),
    ] {
        drop(whole.change(sql));
        let error = told(whole.desk.path()).expect_err(sql);
        whole.refused_with(&error, sql);
        assert!(error.to_string().contains(said), "{sql}: {error}");
        whole.lay_out(&whole.state);
    }
}

/// The pages of the file, tables' and others': some are free, and there nothing is said.
fn bits_that_flip(flips: u64, of: u64) {
    let whole = Whole::new();
    let before = told(whole.desk.path()).unwrap();
    let bits = 8 * whole.state.len() as u64;
    let (mut refused, mut harmless) = (0, 0);
    for flip in 0..flips {
        // A stride that has no divisor in common with the size goes everywhere.
        let bit = (flip * of + of / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15) % bits;
        let when = format!("bit {bit}");
        let mut state = whole.state.clone();
        state[(bit / 8) as usize] ^= 1 << (bit % 8);
        whole.lay_out(&state);
        match told(whole.desk.path()) {
            Ok(after) => {
                assert!(after == before, "{when}: {after:?}");
                harmless += 1;
            }
            Err(error) => {
                whole.refused_with(&error, &when);
                refused += 1;
            }
        }
    }
    println!("{flips} bits: {refused} refused, {harmless} harmless");
    assert!(refused > flips / 20 && harmless > 0, "{refused} {harmless}");
}

#[test]
fn flipped_bits_of_the_file_are_refused_or_change_nothing() {
    bits_that_flip(1_000, 1);
}

/// By command: `cargo test -p fedflip-net --test state -- --ignored --nocapture many_flipped`.
#[test]
#[ignore = "takes a minute"]
fn many_flipped_bits_of_the_file() {
    bits_that_flip(5_000, 3);
}

#[test]
fn records_that_differ_are_refused_and_what_a_kill_leaves_is_completed() {
    let whole = Whole::new();
    let path = whole.desk.path().join(RECORDS);
    let ends: Vec<usize> = (1..=whole.records.len()).filter(|&end| whole.records[end - 1] == b'\n').collect();
    // A flipped bit in each line, and one line less.
    for (line, end) in (1..).zip(&ends) {
        for place in [end - 10, end - 1] {
            let mut other = whole.records.clone();
            other[place] ^= 1;
            fs::write(&path, &other).unwrap();
            let error = open(whole.desk.path()).map(|_| ()).unwrap_err();
            assert!(matches!(error, NetError::RecordsDiffer { line: found, .. } if found == line), "{error}");
            assert_eq!(fs::read(&path).unwrap(), other, "nothing is overwritten");
        }
    }
    let error = {
        fs::write(&path, [&whole.records[..ends[2] - 3], &whole.records[ends[2]..]].concat()).unwrap();
        open(whole.desk.path()).map(|_| ()).unwrap_err()
    };
    assert!(
        error.to_string().contains("records.jsonl: line 3 (round 1) is not what state.sqlite has"),
        "{error}"
    );
    assert!(error.hint().contains("move records.jsonl away"), "{}", error.hint());
    // Lines that the database has not: it may be an older copy.
    fs::write(&path, [&whole.records[..], b"{\"type\":\"round\"}\n"].concat()).unwrap();
    let error = open(whole.desk.path()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(&format!("line {}", ends.len() + 1)), "{error}");
    // Whatever a kill has left of it, and nothing at all.
    for cut in (0..whole.records.len()).step_by(37).chain(ends) {
        fs::write(&path, &whole.records[..cut]).unwrap();
        drop(open(whole.desk.path()).unwrap());
        assert_eq!(fs::read(&path).unwrap(), whole.records, "cut at {cut}");
    }
    fs::remove_file(&path).unwrap();
    drop(open(whole.desk.path()).unwrap());
    assert_eq!(fs::read(&path).unwrap(), whole.records);
}
