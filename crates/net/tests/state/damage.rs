//! Folders that are not what a run left: refused by name, with a hint, and never overwritten.

use std::fs;
use std::path::Path;

use fedflip_learn::model_file;
use fedflip_net::NetError;
use fedflip_net::state::{Commit, EnrolledDevice, Fate, NewRun, RunState, StateView};
use fedflip_record::{End, EndReason};

use crate::script::{
    MEMORY, Operation, RUN_TOML, all, apply, commit, device, end, header, initial, model, open, open_as,
    params, plan, script,
};

/// A run of this number of operations, closed.
fn run(folder: &Path, operations: usize) {
    let (mut state, _) = open(folder).unwrap();
    script()[..operations].iter().for_each(|operation| apply(&mut state, operation).unwrap());
}

fn refused(folder: &Path) -> NetError {
    let error = open(folder).map(|_| ()).unwrap_err();
    assert!(!error.hint().is_empty());
    error
}

#[test]
fn a_damaged_database_is_refused_and_never_makes_it_panic() {
    let desk = tempfile::tempdir().unwrap();
    run(desk.path(), 13);
    let state = desk.path().join("state.sqlite");
    let whole = fs::read(&state).unwrap();
    let others = ["records.jsonl", "run.toml", "plan.csv"].map(|name| desk.path().join(name));
    let photo = others.clone().map(|path| fs::read(path).unwrap());
    for cut in [1, 99, 512, 4096, 5000, whole.len() / 2, whole.len() - 4096] {
        fs::write(&state, &whole[..cut]).unwrap();
        let error = refused(desk.path()).to_string();
        assert!(error.contains("state.sqlite"), "cut to {cut}: {error}");
        assert_eq!(fs::read(&state).unwrap(), &whole[..cut], "what is left stays");
        assert!(StateView::open(desk.path()).is_err());
    }
    fs::write(&state, b"").unwrap();
    assert!(matches!(refused(desk.path()), NetError::NoState { .. }), "an empty one beside records");
    fs::remove_file(&state).unwrap();
    assert!(matches!(refused(desk.path()), NetError::NoState { .. }), "none beside records");
    // A page of random bytes, anywhere: most of it shows, and what does not (in free space) changes nothing we read.
    let mut shown = 0;
    for at in (0..whole.len() - 512).step_by(1536) {
        let mut noisy = whole.clone();
        noisy[at..at + 512]
            .iter_mut()
            .enumerate()
            .for_each(|(n, byte)| *byte ^= (n as u8).wrapping_mul(37) | 1);
        fs::write(&state, &noisy).unwrap();
        shown +=
            usize::from(open(desk.path()).is_err_and(|error| error.to_string().contains("state.sqlite")));
        others.iter().zip(&photo).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    }
    assert!(shown > 5, "{shown}");
    // Of the last page only zeros are gone, if it is an empty one: then nothing is.
    fs::write(&state, &whole[..whole.len() - 1]).unwrap();
    assert!(open(desk.path()).map_or(true, |(_, resumed)| resumed.round == 5));
    for path in ["state.sqlite-wal", "state.sqlite-shm"] {
        let _ = fs::remove_file(desk.path().join(path));
    }
    fs::write(&state, &whole).unwrap();
    assert_eq!(open(desk.path()).unwrap().1.round, 5);
}

#[test]
fn a_damaged_model_is_refused_by_name() {
    let desk = tempfile::tempdir().unwrap();
    run(desk.path(), 6);
    let path = desk.path().join("models/00000002.safetensors");
    let whole = fs::read(&path).unwrap();
    let mut other = whole.clone();
    *other.last_mut().unwrap() ^= 1;
    for bytes in [&whole[..whole.len() - 1], &[], &other] {
        fs::write(&path, bytes).unwrap();
        let error = refused(desk.path());
        assert!(matches!(error, NetError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("00000002.safetensors"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "what is left stays");
    }
    fs::remove_file(&path).unwrap();
    assert!(refused(desk.path()).to_string().contains("00000002.safetensors"));
    fs::write(&path, &whole).unwrap();
    assert_eq!(open(desk.path()).unwrap().1.model, Some(model(2)));
    // A model is nothing without what is remembered with it, and each number of it counts.
    let write = |names: &[&str], numbers: &[f32]| {
        let named = |vector: &str| {
            let prefix = if vector.is_empty() { String::new() } else { format!("{vector}/") };
            params().into_iter().map(move |(name, spec)| (format!("{prefix}{name}"), spec))
        };
        let params: Vec<_> = [""].iter().chain(names).flat_map(|vector| named(vector)).collect();
        fs::write(&path, model_file::write(&params, numbers).unwrap()).unwrap();
    };
    write(&MEMORY, &all(2));
    assert_eq!(fs::read(&path).unwrap(), whole, "as it was");
    let mut moved = all(2);
    *moved.last_mut().unwrap() += 1.0;
    for (names, numbers) in [(&MEMORY[..], moved), (&MEMORY[..1], all(2)[..18].to_vec()), (&[], model(2))] {
        write(names, &numbers);
        assert!(refused(desk.path()).to_string().contains("00000002.safetensors"), "{names:?}");
    }
}

#[test]
fn strays_go_and_what_is_not_ours_stays() {
    let desk = tempfile::tempdir().unwrap();
    run(desk.path(), 6);
    let models = desk.path().join("models");
    for name in
        ["00000001.safetensors", "00000003.safetensors", "00000003.safetensors.new", "mine.safetensors"]
    {
        fs::write(models.join(name), b"x").unwrap();
    }
    // What others made of the readers' files is put right, and their own files stay.
    fs::write(desk.path().join("plan.csv"), b"mine").unwrap();
    fs::write(desk.path().join("notes.txt"), b"mine").unwrap();
    drop(open(desk.path()).unwrap());
    let mut left: Vec<String> =
        fs::read_dir(&models).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["00000002.safetensors", "mine.safetensors"]);
    assert_eq!(fs::read(desk.path().join("plan.csv")).unwrap(), plan(0, 2, 0.5).plan_csv);
    assert_eq!(fedflip_record::reader::read(&desk.path().join("records.jsonl")).unwrap().rounds.len(), 2);
    assert!(desk.path().join("notes.txt").exists());
}

#[test]
fn one_server_one_scenario_one_version() {
    let desk = tempfile::tempdir().unwrap();
    let (state, _) = open(desk.path()).unwrap();
    let error = refused(desk.path());
    assert!(error.to_string().contains("another fedflip"), "{error}");
    drop(state);
    let error = open_as(desk.path(), "seed = 2\nrounds_max = 9\n").unwrap_err();
    assert!(error.to_string().contains("`seed = 1`, where this one has `seed = 2`"), "{error}");
    assert_eq!(fs::read_to_string(desk.path().join("run.toml")).unwrap(), RUN_TOML);
    let smaller =
        NewRun { run_toml: RUN_TOML, free_keys: &[], stop: None, params: &params()[..1], memory: &MEMORY };
    let error = RunState::open(desk.path(), &smaller).unwrap_err().to_string();
    assert!(error.contains("9 parameters, where this one has 6"), "{error}");
    let database = rusqlite::Connection::open(desk.path().join("state.sqlite")).unwrap();
    database.pragma_update(None, "user_version", 7).unwrap();
    drop(database);
    assert!(matches!(refused(desk.path()), NetError::StateVersion { found: 7, .. }));
    // A simulated run has no state.
    let simulated = tempfile::tempdir().unwrap();
    fs::write(simulated.path().join("run.toml"), RUN_TOML).unwrap();
    assert!(matches!(refused(simulated.path()), NetError::NoState { .. }));
    assert!(matches!(StateView::open(simulated.path()), Err(NetError::NoState { .. })));
}

#[test]
fn a_raised_cap_lets_a_run_go_on() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, _) = open(desk.path()).unwrap();
    script()[..6].iter().for_each(|operation| apply(&mut state, operation).unwrap());
    state.end(&End { reason: EndReason::RoundsMax, ..end(2) }, &model(2)).unwrap();
    assert!(apply(&mut state, &commit(3, &[], &[])).is_err(), "it is over");
    drop(state);
    assert!(open(desk.path()).unwrap().1.end.is_some());
    let file = desk.path().join("records.jsonl");
    let ended = fs::read(&file).unwrap();
    let raised = "seed = 1\nrounds_max = 20\n";
    let (mut state, resumed) = open_as(desk.path(), raised).unwrap();
    assert_eq!((resumed.end, resumed.round), (None, 2));
    let told = fs::read_to_string(&file).unwrap();
    let told = told.lines().last().unwrap();
    let expected = r#""changes":[{"key":"rounds_max","before":"9","now":"20"}]"#;
    assert!(told.contains(r#""type":"changed","after_round":2"#) && told.contains(expected), "{told}");
    drop(state);
    // A server that is killed before it has written for readers leaves the end in their file.
    fs::write(&file, ended).unwrap();
    let (again, _) = open_as(desk.path(), raised).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().last(), Some(told));
    drop(again);
    (state, _) = open_as(desk.path(), raised).unwrap();
    apply(&mut state, &commit(3, &[0], &[])).unwrap();
    assert_eq!(fs::read_to_string(desk.path().join("run.toml")).unwrap(), raised);
    let records = fedflip_record::reader::read(&desk.path().join("records.jsonl")).unwrap();
    assert_eq!((records.rounds.len(), records.end), (3, None));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, _) = open(desk.path()).unwrap();
    assert!(apply(&mut state, &commit(1, &[], &[])).is_err(), "no plan yet");
    assert!(state.initial(&initial()).is_err(), "no plan yet");
    state.enrol(&device(0)).unwrap();
    assert!(state.enrol(&device(2)).is_err(), "a gap");
    assert!(state.enrol(&EnrolledDevice { slot: 1, ..device(0) }).is_err(), "another place");
    assert!(state.enrol(&EnrolledDevice { coin: [9; 32], ..device(0) }).is_err(), "another coin");
    assert!(state.enrol(&EnrolledDevice { samples: f64::NAN, ..device(0) }).is_err());
    assert!(state.replan(&plan(0, 1, 0.5), &[]).is_err(), "before the first");
    assert!(state.begin(&header(2), &plan(0, 2, 0.5)).is_err(), "more devices than are enrolled");
    state.begin(&header(1), &plan(0, 1, 0.5)).unwrap();
    assert!(state.begin(&header(1), &plan(0, 1, 0.5)).is_err(), "a second first");
    state.initial(&initial()).unwrap();
    assert!(state.initial(&initial()).is_err(), "twice");
    drop(state);
    let (mut state, resumed) = open(desk.path()).unwrap();
    assert_eq!(resumed.evaluated, Some(initial().metrics));
    assert!(state.initial(&initial()).is_err(), "twice, also after a restart");
    assert!(state.replan(&plan(3, 1, 0.5), &[]).is_err(), "of another round");
    assert!(apply(&mut state, &commit(2, &[0], &[])).is_err(), "a gap");
    let Operation::Commit { record, .. } = commit(1, &[0], &[]) else { unreachable!() };
    let other = (1, Fate::Lost { reason: "deadline".to_owned() });
    for fates in [&[][..], std::slice::from_ref(&other), &[(0, other.1.clone())]] {
        let (memory, measures, norms) = (&[][..], "", "");
        let (model, evaluated) = (None, None);
        let commit = Commit { record: &record, secs: 1.5, model, memory, evaluated, fates, measures, norms };
        assert!(state.commit(&commit).is_err(), "{fates:?}");
    }
    apply(&mut state, &commit(1, &[0], &[])).unwrap();
    assert!(apply(&mut state, &commit(1, &[0], &[])).is_err(), "twice");
    assert!(state.initial(&initial()).is_err(), "after the first round");
    drop(state);
    let (_, resumed) = open(desk.path()).unwrap();
    assert_eq!((resumed.round, resumed.devices.len(), resumed.model), (1, 1, Some(model(1))));
}

/// A write that fails leaves the readers' files behind the database: nothing more is taken until they are right.
#[test]
fn after_a_failure_only_opening_it_again_helps() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, _) = open(desk.path()).unwrap();
    script()[..5].iter().for_each(|operation| apply(&mut state, operation).unwrap());
    let models = desk.path().join("models");
    fs::remove_dir(&models).unwrap();
    assert!(apply(&mut state, &commit(2, &[0], &[])).unwrap_err().to_string().contains("00000002"));
    fs::create_dir(&models).unwrap();
    let error = apply(&mut state, &commit(2, &[0], &[])).unwrap_err();
    assert!(matches!(error, NetError::StateFailed { .. }) && error.hint().contains("again"), "{error}");
    drop(state);
    let (mut state, resumed) = open(desk.path()).unwrap();
    assert_eq!(resumed.round, 1);
    apply(&mut state, &commit(2, &[0], &[])).unwrap();
}

#[test]
fn incidents_are_kept_with_the_next_commit() {
    let desk = tempfile::tempdir().unwrap();
    let (mut state, _) = open(desk.path()).unwrap();
    script()[..3].iter().for_each(|operation| apply(&mut state, operation).unwrap());
    state.incident(1, Some("phone-0"), "a false coin\n");
    let view = StateView::open(desk.path()).unwrap();
    assert!(view.incidents().unwrap().is_empty());
    apply(&mut state, &commit(1, &[], &[])).unwrap();
    state.incident(2, None, "unknown certificate");
    state.flush().unwrap();
    let found = view.incidents().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].round, found[0].reason.as_str()), (1, "a false coin"));
    assert_eq!((found[1].device.as_deref(), found[1].reason.as_str()), (None, "unknown certificate"));
}
