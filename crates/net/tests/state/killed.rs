//! A server that really is killed, over and over, by a signal that it cannot see coming.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fedflip_net::state::{Fate, StateView, model_digest};

use crate::script::{
    MEMORY, Operation, all, apply, commit, device, header, memory, model, open, params, plan,
};

const FOLDER: &str = "FEDFLIP_TEST_STATE";
const ROUNDS: u64 = 120;

/// Who takes part in a round: nobody, one, or both.
fn round(number: u64) -> Operation {
    match number % 4 {
        0 => commit(number, &[], &[]),
        1 => commit(number, &[0, 1], &[]),
        2 => commit(number, &[1], &[0]),
        _ => commit(number, &[0], &[]),
    }
}

/// The server: continues from wherever it is, and says what is committed.
#[test]
#[ignore = "is started, and killed, by the test below"]
fn server() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (mut state, resumed) = open(&folder).unwrap();
    (resumed.devices.len()..2).for_each(|slot| state.enrol(&device(slot)).unwrap());
    if resumed.plan.is_none() {
        state.begin(&header(2), &plan(0, 2, 0.5)).unwrap();
    }
    let mut planned = resumed.plan.map_or(0, |plan| plan.after_round);
    for number in resumed.round + 1..=ROUNDS {
        let before = number - 1;
        if before % 10 == 0 && planned != before {
            state.replan(&plan(before, 2, 1.0 / before as f64), &[]).unwrap();
            planned = before;
        }
        apply(&mut state, &round(number)).unwrap();
        println!("committed {number}");
    }
}

/// Starts a server and kills it once it has committed `after` rounds. Says which was the last it told of.
fn serve_and_kill(folder: &Path, after: usize) -> u64 {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::server", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = 0;
    let lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    for number in lines.filter_map(|line| line.rsplit_once("committed ")?.1.parse::<u64>().ok()).take(after) {
        told = number;
    }
    // It continues meanwhile, so this hits it anywhere.
    server.kill().unwrap();
    server.wait().unwrap();
    told
}

#[test]
fn a_killed_server_loses_nothing_it_told_of() {
    let desk = tempfile::tempdir().unwrap();
    let mut last = 0;
    for turn in 0.. {
        let told = serve_and_kill(desk.path(), turn % 7);
        // Nobody has opened it since the kill: a reader sees what was committed, whole.
        if desk.path().join("run.toml").exists() {
            let view = StateView::open(desk.path()).unwrap();
            let rounds = view.rounds().unwrap();
            assert!(rounds >= told.max(last), "turn {turn}: {rounds} of {told}");
            last = rounds;
        }
        if last == ROUNDS {
            break;
        }
        assert!(turn < 1_000, "it gets somewhere");
    }
    let (state, resumed) = open(desk.path()).unwrap();
    assert_eq!(resumed.round, ROUNDS);
    drop(state);
    let view = StateView::open(desk.path()).unwrap();
    let mut newest = 0;
    for number in 1..=ROUNDS {
        let (stored, Operation::Commit { record, moved, fates }) =
            (view.round(number).unwrap().unwrap(), round(number))
        else {
            unreachable!()
        };
        newest = if moved { number } else { newest };
        assert_eq!((&stored.record, stored.model_round), (&record, newest));
        assert_eq!(stored.model_sha256, Some(model_digest(&all(newest))));
        let found = view.fates(number).unwrap();
        assert_eq!(found, fates, "each update once");
        assert_eq!(moved, found.iter().any(|(_, fate)| matches!(fate, Fate::Accepted { .. })));
        // A plan holds from the round after the one it was made after.
        assert_eq!(stored.plan, 1 + (number - 1) / 10, "round {number}");
    }
    let found = view.model(&params(), &MEMORY).unwrap().unwrap();
    assert_eq!((found.numbers, found.memory), (model(newest), memory(newest)));
    let records = fedflip_record::reader::read(&desk.path().join("records.jsonl")).unwrap();
    assert_eq!(records.rounds.len() as u64, ROUNDS);
}
