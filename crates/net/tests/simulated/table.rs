//! What one certified device can do, against what the other devices may lose because of it: nobody else loses an
//! update, no round outlasts its deadline, and only a few rounds are waited for at all.

use std::time::Duration;

use fedflip_net::server::Ended;
use fedflip_record::Round;
use rand::RngExt;

use crate::deeds::deeds;
use crate::device::Device;
use crate::network::{Link, stream};
use crate::plenty;
use crate::roles::{Actor, Stage, never_uploads, silent};
use crate::run::{Outcome, SimRun};

const HONEST: usize = 4;
/// Of a run with one deed; a seeded run has fewer, and there are many of them.
const ROUNDS: u64 = 24;
const SEEDED_ROUNDS: u64 = 16;
const DEADLINE_SECS: f64 = 4.0;
/// An honest round: the longest computation, the uploads, and two ways through the network.
const USUAL_SECS: f64 = 1.0;

/// Four honest devices beside those of a deed; the seed decides their times and the deadline.
fn beside(seed: u64, hostile: Vec<Actor>, rounds: u64) -> SimRun {
    let mut random = stream(seed, 1 << 37);
    let honest = (0..HONEST).map(|_| Actor::honest(random.random_range(0.05..0.4)));
    let mut run = SimRun::full(seed, honest.chain(hostile).collect(), rounds);
    run.wanted.deadline_secs = random.random_bool(0.5).then_some(DEADLINE_SECS);
    run.wanted.replan_every = random.random_bool(0.5).then_some(5);
    run
}

/// The bounds of every cell; how many rounds the others had to wait in, and the time that this took.
fn check(run: &SimRun, outcome: &Outcome, what: &str) -> (usize, f64) {
    assert!(matches!(outcome.ending.ended, Ended::Over(_)), "{what}: {:?}", outcome.ending.ended);
    for honest in 0..HONEST {
        assert_eq!(outcome.lost(honest), [], "{what}: nobody else loses an update");
        assert_eq!(outcome.accepted(honest) as u64, run.wanted.rounds, "{what}: nobody else loses a turn");
    }
    let timeouts = run.wanted.timeouts;
    let deadline_secs = run.wanted.deadline_secs.unwrap_or({
        // Ten times what the slowest of the others takes is believed, of a claim or a delay.
        timeouts.deadline_factor * 10.0 * USUAL_SECS + timeouts.deadline_slack.as_secs_f64()
    });
    let round_secs_max = timeouts.window.as_secs_f64() + deadline_secs + 0.2;
    assert!(outcome.round_secs_max() < round_secs_max, "{what}: {} s", outcome.round_secs_max());
    let waited = outcome.rounds.iter().filter(|round| round.round_secs > USUAL_SECS);
    let secs = waited.clone().map(|round| round.round_secs).sum();
    (waited.count(), secs)
}

/// How many rounds others may have to wait in for a deed; none where a device delays and delivers: it is slow rather
/// than hostile, a planned scheme gives it a lower q, and only the length of a round is bounded.
fn waited_rounds_max(deed: &str) -> Option<usize> {
    match deed {
        "uploads just before the deadline" | "trickles until just before the deadline" => None,
        "answers at the end of the window" | "two claim a day and delay" => None,
        "delivers every second time" | "answers every second time" | "delivers two times in three" => Some(8),
        "two take turns to fail" | "two never upload" | "one is silent, one stalls" => Some(8),
        _ => Some(5),
    }
}

#[test]
fn nobody_else_pays_for_a_deed() {
    for (number, (deed, hostile)) in deeds().into_iter().enumerate() {
        let run = beside(number as u64, hostile, ROUNDS);
        let outcome = run.run();
        let (waited, secs) = check(&run, &outcome, deed);
        println!("{deed:48} waited in {waited:2} of {ROUNDS} rounds, {secs:6.1} s");
        assert!(waited_rounds_max(deed).is_none_or(|most| waited <= most), "{deed}: {waited} rounds");
    }
}

#[test]
fn nobody_else_pays_in_many_seeded_runs() {
    plenty::runs(50, 2, |seed| {
        let mut deeds = deeds();
        let (deed, hostile) = deeds.swap_remove(stream(seed, 1 << 38).random_range(0..deeds.len()));
        let run = beside(seed, hostile, SEEDED_ROUNDS);
        let outcome = run.run();
        let (waited, _) = check(&run, &outcome, &format!("seed {seed}, {deed}"));
        let most = waited_rounds_max(deed);
        assert!(most.is_none_or(|most| waited <= most), "seed {seed}, {deed}: {waited} rounds");
        outcome.replayed
    });
}

/// A device that went silent for some windows, over a link slower than all others', is heard again.
#[test]
fn a_device_on_a_slow_link_that_was_silent_for_a_while_comes_back() {
    let mut actors = [0.05, 0.1, 0.1].map(Actor::honest).to_vec();
    actors.push(Actor::honest(0.05).over(Link { latency_secs: 0.3, ..Link::default() }));
    // The fifth stops the fourth one's link, and is honest otherwise.
    actors.push(Actor::scripted(|stage| async move {
        let network = stage.network.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(6)).await;
            network.stall(3, Duration::from_secs(8));
        });
        stage.be_honest(0.05).await;
    }));
    let rounds = 200;
    let outcome = SimRun::full(1, actors, rounds).run();
    let slot = outcome.slots[3].unwrap();
    let joined = |round: &&Round| round.cohort.contains(&slot);
    let missed = outcome.rounds.iter().filter(|round| !joined(round)).count();
    let end = outcome.ending.secs;
    assert!(missed >= 3, "it was silent for {missed} rounds, until {end} s");
    assert!(
        outcome.rounds[rounds as usize - 10..].iter().filter(joined).count() >= 8,
        "and is back at the end"
    );
}

/// Devices are benched for the sake of the others: when these have left, the benched ones continue.
#[test]
fn a_run_goes_on_with_benched_devices_when_the_others_have_left() {
    let reformed = |stage: Stage| async move {
        let mut device = stage.enrolled().await;
        while let Some(opened) = stage.next_round(&mut device).await {
            let grant = device.take_part(&opened).await;
            if opened.round > 3 {
                let update = device.trained(&grant, &stage.learner).await;
                device.upload(Device::head(&grant, &update), &update.bytes).await.unwrap();
            }
        }
    };
    let leaves = |stage: Stage| async move {
        let honest = stage.clone().be_honest(0.05);
        // It is gone after the other one was benched.
        let _ = tokio::time::timeout(Duration::from_secs(12), honest).await;
    };
    let mut run = SimRun::full(1, vec![Actor::scripted(reformed), Actor::scripted(leaves)], 4000);
    run.wanted.timeouts.quorum = 0.5;
    run.secs_max = 60.0;
    let outcome = run.run();
    let benched = |reason: &str| outcome.plans.iter().any(|plan| plan.reason.contains(reason));
    assert!(benched("is benched") && benched("is back from the bench"), "{:?}", outcome.plans.len());
    let last = outcome.rounds.last().unwrap();
    assert!(last.start_secs > 20.0, "rounds go on without the other device: {last:?}");
    assert!(outcome.accepted(0) > 10);
}

/// A device whose uploads are slow has a limit of its own, and is never counted as one that sends more: it does not get
/// bandwidth that a device needs which computes for long.
#[test]
fn a_device_that_trickles_does_not_crowd_out_one_that_computes_for_long() {
    let slow = Link { upload_mbps: 0.01, ..Link::default() };
    let actors = vec![Actor::honest(0.05), Actor::honest(2.0), Actor::honest(0.05).over(slow)];
    let mut run = SimRun::full(1, actors, 14);
    (run.wanted.band_mbps, run.wanted.deadline_secs) = (0.02, Some(4.0));
    let outcome = run.run();
    let lost = [0, 1].map(|actor| outcome.lost(actor));
    assert!(lost.iter().all(Vec::is_empty), "{lost:?}");
}

/// Silent devices are not waited for, also where they are many; and with one that is benched nothing spins.
#[test]
fn no_round_is_empty_because_nobody_is_waited_for() {
    let mut actors = vec![Actor::honest(0.1)];
    actors.extend((0..2).map(|_| Actor::scripted(silent)));
    let outcome = SimRun::full(1, actors, 40).run();
    assert_eq!(outcome.accepted(0), 40);
    let waited = outcome.rounds.iter().filter(|round| round.round_secs > USUAL_SECS).count();
    assert!(waited <= 4, "two silent devices beside one: {waited} rounds");
    // One is benched, and the link of the other one stands still for some windows.
    let stalled = |stage: Stage| async move {
        let network = stage.network.clone();
        let number = stage.number;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(9)).await;
            network.stall(number, Duration::from_secs(9));
        });
        stage.be_honest(0.05).await;
    };
    let actors = vec![Actor::scripted(never_uploads), Actor::scripted(stalled)];
    let mut run = SimRun::full(1, actors, 100_000);
    run.wanted.timeouts.quorum = 0.5;
    run.secs_max = 40.0;
    let outcome = run.run();
    let empty = outcome.rounds.iter().filter(|round| round.cohort.is_empty()).count();
    assert!(empty < 40, "{empty} empty rounds of {}", outcome.rounds.len());
}
