//! Servers and agents killed at random moments, as processes: no committed round is lost, no update counts twice,
//! and the run comes to its end by itself.
//!
//! One run here; `cargo xtask faults` does hundreds. FEDFLIP_FAULT_RUNS and FEDFLIP_FAULT_SEED say how many, and
//! from which seed on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../net/tests/common/plenty.rs"]
mod plenty;
mod processes;
#[path = "../../../net/tests/common/replay.rs"]
mod replay;
#[path = "../../../net/tests/common/timeouts.rs"]
mod timeouts;

use std::path::Path;
use std::time::Duration;

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_fleet::{Purpose, StreamKey};
use fedflip_learn::Encoding;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_net::state::StateView;
use processes::{Desk, Process};
use rand::RngExt;
use replay::{Replayed, replay};

const DEVICES: usize = 3;
/// Of the scenario.
const SEED: u64 = 1;
const ROUNDS: u64 = 25;
/// A run takes a few seconds; this is for a machine that has other things to do.
const RUN_TIME_MAX: Duration = Duration::from_secs(120);
/// A server that is told to stop lets a round continue for this time, and a little longer.
const STOP_TIME_MAX: Duration = Duration::from_secs(40);

#[test]
fn killed_runs_go_on_and_lose_nothing() {
    let total = plenty::runs(1, 3, run);
    println!("killed: {total:?}");
    assert!(total.accepted > 0, "{total:?}");
}

/// What happens to a run before it is left in peace.
#[derive(Clone, Copy, Debug)]
enum Blow {
    KillServer,
    /// SIGTERM.
    StopServer,
    KillAgent(usize),
}

fn run(seed: u64) -> Replayed {
    let mut random = StreamKey { seed, purpose: Purpose::Test, round: 0 }.shared();
    let (optimiser, server_section) = optimiser(seed);
    // Of every other pair of seeds: each optimiser with and without.
    let quiet_every = (seed / 2).is_multiple_of(2).then_some(4);
    let quiet = quiet_every.map(|every| format!("[plan]\nquiet_variance = 0.36\nquiet_every = {every}\n"));
    let desk = Desk::new(DEVICES, ROUNDS, &format!("{server_section}{}", quiet.unwrap_or_default()));
    let learner = learner();
    let mut server = desk.serve();
    let mut agents: Vec<Process> = (0..DEVICES).map(|device| desk.join(device)).collect();
    let mut committed = 0;
    let mut rounds = |at_least: u64| {
        let found = StateView::open(&desk.run()).and_then(|view| view.rounds()).unwrap_or(0);
        assert!(found >= committed.max(at_least), "seed {seed}: {found} rounds, after {committed}");
        committed = found;
        found
    };
    for _ in 0..random.random_range(3..9_u32) {
        pause(random.random_range(0..700));
        let blow = match random.random_range(0..10_u32) {
            0..5 => Blow::KillServer,
            5 => Blow::StopServer,
            _ => Blow::KillAgent(random.random_range(0..DEVICES)),
        };
        match blow {
            Blow::KillAgent(device) => {
                agents[device].kill();
                pause(random.random_range(0..300));
                agents[device] = desk.join(device);
            }
            Blow::KillServer | Blow::StopServer => {
                match blow {
                    Blow::StopServer => server.stop(STOP_TIME_MAX, seed),
                    _ => server.kill(),
                }
                let before = rounds(0);
                if StateView::open(&desk.run()).is_ok() {
                    let replayed =
                        replay(&desk.run(), &learner, SEED, (&optimiser, [Encoding::F32; 2], quiet_every));
                    assert_eq!(replayed.rounds, before, "seed {seed}");
                }
                pause(random.random_range(0..300));
                server = desk.serve();
            }
        }
    }
    server.ends_well(RUN_TIME_MAX, seed);
    assert_eq!(rounds(ROUNDS), ROUNDS, "seed {seed}");
    for agent in &mut agents {
        // Whoever was there has heard that the run is over; whoever was not is told to stop.
        if timeouts::within(Duration::from_millis(500), || agent.has_ended()) {
            agent.ends_well(Duration::ZERO, seed);
        } else {
            agent.stop(STOP_TIME_MAX, seed);
        }
    }
    let replayed = replay(&desk.run(), &learner, SEED, (&optimiser, [Encoding::F32; 2], quiet_every));
    assert!(replayed.ended && replayed.accepted > 0, "seed {seed}: {replayed:?}");
    replayed
}

/// What the server does with the sums, and how a scenario says so: moments and averages must survive, too.
fn optimiser(seed: u64) -> (Optimiser, &'static str) {
    match seed % 3 {
        0 => (Optimiser::default(), ""),
        1 => {
            let adam = Adaptive { step: 0.01, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };
            let optimiser = Optimiser { averaging: 0.9, ..Rule::Adam(adam).into() };
            (optimiser, "[server]\noptimiser = \"adam\"\naveraging = 0.9\n")
        }
        _ => {
            let rule = Rule::Momentum { step: 1.0, momentum: 0.5 };
            (Optimiser::from(rule), "[server]\noptimiser = \"momentum\"\n")
        }
    }
}

/// What `fedflip scenario new synthetic` describes.
fn learner() -> SgdLearner {
    let task = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    task.learner(Path::new("no data set is needed")).unwrap().0
}

#[expect(clippy::disallowed_methods, reason = "blows fall at moments that chance decides")]
fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}
