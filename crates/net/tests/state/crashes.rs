//! A server that is killed between any two steps of any operation.
//!
//! The folder is photographed before and after each operation, with the database open as a killed server leaves
//! it. In between, files change in a known order; every prefix of these changes is a folder that a kill can
//! leave behind, and so is every one in which the file in the making is cut somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::script::{Operation, Oracle, apply, open, script};

type Photo = BTreeMap<String, Vec<u8>>;

const WAL: &str = "state.sqlite-wal";
const RECORDS: &str = "records.jsonl";

fn photograph(folder: &Path) -> Photo {
    let mut photo = Photo::new();
    for inner in ["", "models"] {
        for file in fs::read_dir(folder.join(inner)).unwrap() {
            let path = file.unwrap().path();
            // The database makes its shared memory anew.
            if path.is_file() && !path.ends_with(".lock") && !path.ends_with("state.sqlite-shm") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                photo.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    photo
}

fn lay_out(photo: &Photo, folder: &Path) {
    for (name, bytes) in photo {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The order in which an operation changes files.
fn place(name: &str) -> usize {
    let order = [WAL, "state.sqlite", RECORDS, "fleet.csv", "plan.csv"];
    // Models come first.
    order.iter().position(|other| *other == name).map_or(0, |place| place + 1)
}

/// A folder as a kill may leave it, and whether the operation is to be found in it.
struct Crash {
    when: String,
    photo: Photo,
    committed: bool,
}

fn crashes(before: &Photo, after: &Photo, operation: &Operation) -> Vec<Crash> {
    let mut changed: Vec<&String> =
        after.keys().filter(|name| before.get(*name) != after.get(*name)).collect();
    changed.sort_by_key(|name| place(name));
    let mut crashes = Vec::new();
    let (mut photo, mut committed) = (before.clone(), false);
    for name in changed {
        let (old, new) = (before.get(name).map_or(&[][..], Vec::as_slice), &after[name]);
        let mut crash = |what: &str, photo: &Photo, committed: bool| {
            let when = format!("{operation:?}, {name}: {what}");
            crashes.push(Crash { when, photo: photo.clone(), committed });
        };
        let appended = name == WAL || name == RECORDS;
        for part in 0..4 {
            let mut torn = photo.clone();
            let cut = old.len() + (new.len().saturating_sub(old.len())) * part / 4;
            if appended {
                assert!(new.starts_with(old), "{name} is only appended to");
                torn.insert(name.clone(), new[..cut].to_vec());
            } else {
                torn.insert(format!("{name}.new"), new[..new.len() * part / 4].to_vec());
            }
            crash(&format!("torn at {part}/4"), &torn, committed);
        }
        if appended && new.len() > old.len() {
            let mut torn = photo.clone();
            torn.insert(name.clone(), new[..new.len() - 1].to_vec());
            crash("a byte short", &torn, committed);
        }
        photo.insert(name.clone(), new.clone());
        committed |= name == WAL;
        crash("whole", &photo, committed);
    }
    crashes
}

#[test]
fn killed_at_any_step_nothing_committed_is_lost_or_doubled() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, resumed) = open(desk.path()).unwrap();
    let mut oracle = Oracle::new(resumed.run_id);
    let script = script();
    let mut before = photograph(desk.path());
    let mut count = 0;
    for (at, operation) in script.iter().enumerate() {
        apply(&mut state, operation).unwrap();
        let after = photograph(desk.path());
        let mut done = oracle.clone();
        done.apply(operation);
        for Crash { when, photo, committed } in crashes(&before, &after, operation) {
            let folder = tempfile::tempdir().unwrap();
            lay_out(&photo, folder.path());
            let mut expected = if committed { done.clone() } else { oracle.clone() };
            let mut again = expected.check(folder.path(), &when);
            count += 1;
            // The resumed run ends where an undisturbed run ends.
            if count % 9 == 0 {
                for operation in &script[at + usize::from(committed)..] {
                    apply(&mut again, operation).unwrap();
                    expected.apply(operation);
                }
                drop(again);
                expected.check(folder.path(), &format!("{when}, and then to the end"));
            }
        }
        (before, oracle) = (after, done);
    }
    assert!(count > 100, "{count}");
    drop(state);
    drop(oracle.check(desk.path(), "after all"));
    oracle.check(desk.path(), "once more");
}

#[test]
fn killed_while_it_is_founded_a_run_is_founded_again() {
    let desk = tempfile::tempdir().unwrap();
    let (state, resumed) = open(desk.path()).unwrap();
    let whole = photograph(desk.path());
    drop(state);
    let wal = &whole[WAL];
    for cut in (0..wal.len()).step_by(2048).chain([wal.len()]) {
        let folder = tempfile::tempdir().unwrap();
        let mut photo = Photo::from([(WAL.to_owned(), wal[..cut].to_vec())]);
        photo.insert("state.sqlite".to_owned(), whole["state.sqlite"].clone());
        lay_out(&photo, folder.path());
        let (_, again) = open(folder.path()).unwrap();
        assert_eq!(again.run_id == resumed.run_id, cut == wal.len(), "cut at {cut}");
        assert_eq!(again, fedflip_net::state::Resumed { run_id: again.run_id, ..resumed.clone() });
    }
}

/// The order that the test above takes for granted: the model before the transaction, all else after it.
#[test]
fn without_its_transaction_an_operation_leaves_nothing_for_readers() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, resumed) = open(desk.path()).unwrap();
    let mut oracle = Oracle::new(resumed.run_id);
    for operation in script() {
        drop(state);
        let sql = |text: &str| {
            let database = rusqlite::Connection::open(desk.path().join("state.sqlite")).unwrap();
            database.execute_batch(text).unwrap();
        };
        sql("CREATE TRIGGER no_device BEFORE INSERT ON devices BEGIN SELECT raise(ABORT, 'no'); END;
             CREATE TRIGGER no_record BEFORE INSERT ON records BEGIN SELECT raise(ABORT, 'no'); END;");
        state = oracle.check(desk.path(), "before");
        let visible = |photo: Photo| -> Photo {
            photo.into_iter().filter(|(name, _)| !name.starts_with("state.sqlite")).collect()
        };
        let before = visible(photograph(desk.path()));
        let error = apply(&mut state, &operation).unwrap_err();
        assert!(error.to_string().contains("state.sqlite: no"), "{error}");
        let mut after = visible(photograph(desk.path()));
        match &operation {
            Operation::Commit { record, moved: true, .. } => {
                assert!(after.remove(&format!("models/{:08}.safetensors", record.round)).is_some());
            }
            Operation::End(_) => assert!(after.remove("model.safetensors").is_some()),
            _ => {}
        }
        assert_eq!(after, before, "{operation:?}");
        drop(state);
        drop(oracle.check(desk.path(), "after it was refused"));
        sql("DROP TRIGGER no_device; DROP TRIGGER no_record;");
        state = oracle.check(desk.path(), "after the obstacle is gone");
        apply(&mut state, &operation).unwrap();
        oracle.apply(&operation);
    }
}
