//! What slow and hanging agents, as processes of their own, cost the others: no update, and a few rounds of waiting.

use std::process::Command;

use fedflip_net::state::{Fate, StateView};

use crate::serve::{ANY_PORT, Serving, a_moment, device, device_with, prepare};

const DEADLINE_SECS: f64 = 1.0;
const ROUNDS: u64 = 30;

/// One agent takes more than two deadlines to train, and one is frozen in the middle of the run: its line stays open, and it
/// says nothing.
#[test]
fn a_slow_agent_and_a_frozen_one_cost_nobody_else_an_update() {
    let desk = tempfile::tempdir().unwrap();
    let names = ["good-a", "good-b", "good-c", "slow", "frozen"];
    prepare(desk.path(), &names, ROUNDS);
    let deadline = format!("round.deadline_secs={DEADLINE_SECS}");
    let options = ["--scheme", "full", "--window-secs", "1", "--set", &deadline];
    let server = Serving::start_with(desk.path(), ANY_PORT, &options);
    let agents: Vec<_> = names
        .iter()
        .map(|&name| match name {
            "slow" => device_with(desk.path(), &server.address, name, &["--compute-secs", "2.5"]),
            _ => device(desk.path(), &server.address, name),
        })
        .collect();
    let rounds = || StateView::open(&desk.path().join("run")).and_then(|view| view.rounds()).unwrap_or(0);
    while rounds() < 6 {
        a_moment();
    }
    let frozen = agents[4].0.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &frozen]).status().unwrap().success());
    let (code, _, log) = server.end();
    assert_eq!(code, Some(0), "{log:?}");

    let view = StateView::open(&desk.path().join("run")).unwrap();
    let slots: Vec<String> = view.devices().unwrap().into_iter().map(|device| device.name).collect();
    let mut waited_rounds = 0;
    for round in 1..=ROUNDS {
        let fates = view.fates(round).unwrap();
        let counts = |(slot, fate): &&(usize, Fate)| {
            slots[*slot].starts_with("good") && matches!(fate, Fate::Accepted { .. })
        };
        assert_eq!(fates.iter().filter(counts).count(), 3, "round {round}: {fates:?}");
        let record = view.round(round).unwrap().unwrap().record;
        // The window, the deadline, and a machine that has other things to do.
        assert!(record.round_secs < 1.0 + DEADLINE_SECS + 1.5, "{record:?}");
        waited_rounds += u64::from(record.round_secs > 0.9);
    }
    // Three failures of the slow one; three windows of the frozen one, or a part that it did not finish.
    assert!(waited_rounds <= 10, "{waited_rounds} of {ROUNDS} rounds were waited for");
    let benched = view.incidents().unwrap().into_iter().filter(|incident| incident.reason == "benched");
    assert!(benched.filter_map(|incident| incident.device).any(|name| name == "slow"));
}
