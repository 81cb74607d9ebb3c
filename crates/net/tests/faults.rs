//! Runs over a bad network: they make progress, they end, and whatever they committed can be computed again.
//!
//! A few of them here; `cargo xtask faults` runs hundreds. FEDFLIP_FAULT_RUNS and FEDFLIP_FAULT_SEED say how many,
//! and from which seed on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "common/bench.rs"]
mod bench;
#[path = "common/plenty.rs"]
mod plenty;
#[path = "common/proxy.rs"]
mod proxy;
#[path = "common/replay.rs"]
mod replay;
#[path = "common/timeouts.rs"]
mod timeouts;
#[path = "common/wanted.rs"]
mod wanted;

use std::sync::Arc;
use std::time::Duration;

use bench::{Agent, Bench, Wanted};
use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_net::server::{Ended, Timeouts};
use fedflip_plan::{Quiet, Scheme};
use proxy::Proxy;
use replay::Replayed;

const DEVICES: usize = 4;
const ROUNDS: u64 = 8;
#[test]
fn runs_over_a_bad_network_lose_nothing() {
    let total = plenty::runs(4, 8, run);
    println!("bad network: {total:?}");
    assert!(total.accepted > 0, "{total:?}");
    // Where nothing is ever lost, the network was not bad.
    assert!(total.lost > 0 || total.rounds < 50 * ROUNDS, "{total:?}");
}

fn run(seed: u64) -> Replayed {
    let timeouts = Timeouts {
        window: Duration::from_millis(400),
        quorum: 0.5,
        deadline_factor: 1.0,
        deadline_slack: Duration::from_millis(600),
        come_back: Duration::from_millis(300),
        finish: Duration::from_secs(1),
        muster: Duration::from_millis(500),
        ..Timeouts::default()
    };
    let scheme = if seed.is_multiple_of(4) { Scheme::Uniform } else { Scheme::Full };
    let replan_every = (seed.is_multiple_of(3)).then_some(2);
    let adaptive = Adaptive { step: 0.1, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };
    // Each scheme with each optimiser, within twelve seeds.
    let optimiser = match seed % 3 {
        1 => Optimiser { averaging: 0.9, ..Rule::Momentum { step: 1.0, momentum: 0.5 }.into() },
        2 => Optimiser { averaging: 0.5, ..Rule::Adam(adaptive).into() },
        _ => Optimiser::default(),
    };
    let quiet = (seed.is_multiple_of(2)).then_some(Quiet { variance: 0.4, every: 3 });
    let wanted = Wanted { timeouts, scheme, optimiser, replan_every, quiet, ..Wanted::full(DEVICES, ROUNDS) };
    let bench = Bench::serve(wanted);
    let proxy = Proxy::start(bench.address, seed);
    let agents: Vec<Agent> =
        (0..DEVICES).map(|device| Agent::join(proxy.address(), &format!("phone-{seed}-{device}"))).collect();
    let metrics = Arc::clone(&bench.metrics);
    let (ended, replayed, _) = bench.ended();
    assert!(matches!(ended, Ended::Over(_)), "seed {seed}");
    assert_eq!((replayed.rounds, metrics.rounds_committed.get()), (ROUNDS, ROUNDS), "seed {seed}");
    assert_eq!(
        replayed.accepted as u64,
        metrics.uploads_accepted.get(),
        "seed {seed}: what was taken counts"
    );
    for agent in agents {
        agent.leave();
    }
    replayed
}
