//! What the simulation promises: the same seed gives the same bytes, time is virtual, and every role can be played.

use fedflip_net::server::Ended;
use fedflip_net::server::deploy::MEASURED;
use fedflip_record::folder::{FLEET, MODEL, PLAN, RECORDS};

use crate::network::{Faults, Link};
use crate::roles::{Actor, never_uploads, silent};
use crate::run::{Outcome, SimRun};
use crate::weather::bad_weather;

fn over(outcome: &Outcome) -> bool {
    matches!(outcome.ending.ended, Ended::Over(_))
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let mut records = Vec::new();
    for seed in 100..110 {
        let [first, second] = [bad_weather(seed).run(), bad_weather(seed).run()];
        assert_eq!(first.ending, second.ending, "seed {seed}: what happens, and when");
        assert_eq!(first.incidents, second.incidents, "seed {seed}");
        assert_eq!(first.plans, second.plans, "seed {seed}");
        for name in [RECORDS, PLAN, FLEET, MEASURED, MODEL] {
            assert!(first.file(name) == second.file(name), "seed {seed}: {name} differs");
        }
        records.push(first.file(RECORDS));
    }
    records.dedup();
    assert_eq!(records.len(), 10, "other seeds, other runs");
}

#[test]
fn honest_devices_lose_nothing_and_take_the_time_that_they_take() {
    let actors = [0.1, 0.2, 0.4].map(Actor::honest).to_vec();
    let outcome = SimRun::full(1, actors, 6).run();
    assert!(over(&outcome));
    assert_eq!((outcome.replayed.accepted, outcome.replayed.lost), (18, 0));
    for round in &outcome.rounds {
        assert!((0.4..0.8).contains(&round.round_secs), "{round:?}");
    }
}

#[test]
fn a_device_that_never_answers_attends_to_the_end() {
    let actors = vec![Actor::honest(0.1), Actor::honest(0.1), Actor::scripted(silent)];
    let run = SimRun::full(1, actors, 4);
    let outcome = run.run();
    assert!(over(&outcome));
    assert_eq!([0, 1, 2].map(|actor| outcome.accepted(actor)), [4, 4, 0]);
    let round_secs_max = run.wanted.timeouts.window.as_secs_f64() + 1.0;
    assert!(outcome.round_secs_max() < round_secs_max, "{} s", outcome.round_secs_max());
}

#[test]
fn a_device_that_never_uploads_loses_its_own_part_only() {
    let actors = vec![Actor::honest(0.1), Actor::honest(0.1), Actor::scripted(never_uploads)];
    let outcome = SimRun::full(1, actors, 4).run();
    assert!(over(&outcome));
    assert_eq!([0, 1, 2].map(|actor| outcome.accepted(actor)), [4, 4, 0]);
    let lost = outcome.lost(2);
    assert!(!lost.is_empty() && lost.iter().all(|(_, reason)| *reason == "deadline"), "{lost:?}");
}

#[test]
fn a_link_limits_what_goes_over_it() {
    let secs = |upload_mbps: f64| {
        let slow = Link { upload_mbps, ..Link::default() };
        let outcome = SimRun::full(1, vec![Actor::honest(0.1).over(slow)], 3).run();
        assert!(over(&outcome));
        outcome.rounds[2].upload_secs[0]
    };
    let [fast, slow] = [10.0, 0.05].map(secs);
    assert!(slow > 0.2 && slow > 10.0 * fast, "{slow} s over 50 kbit/s, {fast} s over 10 Mbit/s");
}

#[test]
fn a_server_that_is_killed_goes_on() {
    let actors = [0.5, 0.7, 0.9].map(Actor::honest).to_vec();
    let calm = SimRun::full(7, actors, 8);
    let killed = SimRun { kill_at_secs: vec![8.3, 14.0], down_secs: 2.0, ..calm.clone() };
    let [calm, killed] = [calm, killed].map(|run| run.run());
    assert!(over(&calm) && over(&killed));
    assert_eq!((killed.replayed.rounds, killed.replayed.accepted), (8, 24));
    assert_eq!(killed.model_sha256, calm.model_sha256, "nothing is lost and nothing counts twice");
    assert!(killed.ending.secs > calm.ending.secs + 4.0, "{} s", killed.ending.secs);
}

#[test]
fn cuts_and_stalls_are_survived() {
    let faults = Faults { jitter: 0.5, cut_every_secs: Some(4.0), stall_every_secs: Some((6.0, 0.5)) };
    let bad = Link { faults, ..Link::default() };
    let actors = [0.3, 0.4, 0.5, 0.6].map(|secs| Actor::honest(secs).over(bad)).to_vec();
    let mut run = SimRun::full(3, actors, 20);
    run.wanted.timeouts.quorum = 0.5;
    let outcome = run.run();
    assert!(over(&outcome));
    let broken = outcome.ending.events.iter().filter(|noted| noted.what.starts_with("Waiting")).count();
    assert!(broken > 5, "{broken} lines broke");
}
