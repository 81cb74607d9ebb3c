//! Many runs, each from a seed: devices and links of all kinds, cuts, stalls, kills of the server, and sometimes a
//! device that does not cooperate.

use fedflip_net::server::Ended;
use fedflip_plan::Scheme;
use rand::RngExt;

use crate::network::{Faults, Link, stream};
use crate::plenty;
use crate::replay::Replayed;
use crate::roles::{Actor, never_uploads, silent};
use crate::run::SimRun;

const DEVICES: usize = 5;
const ROUNDS: u64 = 12;

/// A run over a bad network, drawn from its seed.
pub(crate) fn bad_weather(seed: u64) -> SimRun {
    let mut random = stream(seed, 1 << 36);
    let actors: Vec<Actor> = (0..DEVICES)
        .map(|number| {
            let faults = Faults {
                jitter: random.random_range(0.0..1.0),
                cut_every_secs: random.random_bool(0.3).then(|| random.random_range(5.0..60.0)),
                stall_every_secs: random.random_bool(0.3).then(|| (random.random_range(5.0..60.0), 1.0)),
            };
            let latency_secs = random.random_range(0.001..0.15);
            let upload_mbps = random.random_range(0.5..20.0);
            let actor = match (number, random.random_range(0..4_u32)) {
                (0, 0) => Actor::scripted(silent),
                (0, 1) => Actor::scripted(never_uploads),
                _ => Actor::honest(random.random_range(0.05..2.0)),
            };
            actor.over(Link { latency_secs, upload_mbps, download_mbps: None, faults })
        })
        .collect();
    let mut run = SimRun::full(seed, actors, ROUNDS);
    run.wanted.timeouts.quorum = 0.5;
    run.wanted.scheme = if random.random_bool(0.5) { Scheme::Uniform } else { Scheme::Full };
    run.wanted.replan_every = random.random_bool(0.5).then_some(4);
    if random.random_bool(0.3) {
        run.kill_at_secs.push(random.random_range(5.0..40.0));
    }
    run
}

#[test]
fn runs_in_bad_weather_end_and_can_be_computed_again() {
    let total = plenty::runs(50, 2, |seed| -> Replayed {
        let run = bad_weather(seed);
        let outcome = run.run();
        assert!(matches!(outcome.ending.ended, Ended::Over(_)), "seed {seed}: {:?}", outcome.ending.ended);
        assert_eq!(outcome.replayed.rounds, ROUNDS, "seed {seed}");
        outcome.replayed
    });
    println!("simulated: {total:?}");
    assert!(total.accepted > 0, "{total:?}");
}
