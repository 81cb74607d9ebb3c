//! Devices whose number of samples changes while a run is in progress.

use fedflip_fleet::Weights;
use fedflip_net::server::Ended;
use fedflip_net::wire::v1::to_device::What as Notice;
use fedflip_net::wire::v1::upload_part::Head;
use fedflip_record::folder::RECORDS;
use fedflip_record::{Line, Recount};

use crate::device::Device;
use crate::roles::{Actor, Stage};
use crate::run::{Outcome, SimRun};

/// Trains honestly, and reports what `samples` says of each round.
async fn counts(stage: Stage, samples: fn(u64) -> u64) {
    let mut device = stage.enrolled().await;
    while let Some(opened) = stage.next_round(&mut device).await {
        let (_, proof) = device.proof(&opened, opened.round);
        if !device.try_to_answer(opened.round, proof).await {
            continue;
        }
        if let Some(Notice::Grant(grant)) = device.notice().await
            && let Some(update) = device.try_to_train(&grant, &stage.learner).await
        {
            let head = Head { samples: samples(grant.round), ..Device::head(&grant, &update) };
            // A server that is killed meanwhile takes nothing.
            let _ = device.upload(head, &update.bytes).await;
        }
    }
}

/// Three devices, of which the first counts by this function; the plan is reviewed every ten rounds.
fn run(seed: u64, samples: fn(u64) -> u64) -> SimRun {
    let counting = Actor::scripted(move |stage| counts(stage, samples));
    let mut run = SimRun::full(seed, vec![counting, Actor::honest(0.2), Actor::honest(0.3)], 35);
    run.wanted.counts_unknown = true;
    run.wanted.replan_every = Some(10);
    run
}

/// The rounds after which there was a new plan.
fn replanned(outcome: &Outcome) -> Vec<u64> {
    assert!(matches!(outcome.ending.ended, Ended::Over(_)), "{:?}", outcome.ending.ended);
    assert_eq!(outcome.rounds.len(), 35);
    outcome.plans.iter().map(|plan| plan.after_round).collect()
}

/// a_n of each slot in a plan.
fn shares(outcome: &Outcome, plan: usize) -> Vec<f64> {
    outcome.plans[plan].devices.iter().map(|device| device.weight * device.q).collect()
}

/// The lines of the records about sample counts.
fn recounts(outcome: &Outcome) -> Vec<Recount> {
    let records = String::from_utf8(outcome.file(RECORDS)).unwrap();
    let lines = records.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
    lines.filter_map(|line| if let Line::Recount(recount) = line { Some(recount) } else { None }).collect()
}

#[test]
fn growth_changes_the_weights_with_the_next_plan_and_survives_a_restart() {
    let calm = run(21, |round| if round < 5 { 0 } else { 5000 });
    let killed = SimRun { kill_at_secs: vec![5.0], ..calm.clone() };
    for run in [calm, killed] {
        let outcome = run.run();
        let slot = outcome.slots[0].unwrap();
        assert_eq!(replanned(&outcome), [0, 10]);
        assert!(outcome.plans[1].reason.contains("sample count"), "{}", outcome.plans[1].reason);
        assert_eq!(outcome.samples[slot], 5000.0);
        let [recount] = &recounts(&outcome)[..] else { panic!("{:?}", recounts(&outcome)) };
        let [count] = recount.counts[..] else { panic!("{recount:?}") };
        assert_eq!((count.device, count.now), (slot, 5000));
        assert!(recount.after_round >= 5, "{recount:?}");
        assert!(count.before > 0 && count.before != 5000);
        let total: f64 = outcome.samples.iter().sum();
        for (share, samples) in shares(&outcome, 1).iter().zip(&outcome.samples) {
            assert!((share - samples / total).abs() < 1e-9, "{:?}", outcome.samples);
        }
        assert!(shares(&outcome, 0)[slot] < 0.9 * shares(&outcome, 1)[slot]);
        assert!(run.kill_at_secs.is_empty() || outcome.ending.secs > 6.0, "the server was killed");
    }
}

#[test]
fn a_device_that_changes_its_count_every_round_is_heard_at_reviews_only() {
    let outcome = run(22, |round| 1000 + 100 * round).run();
    assert_eq!(replanned(&outcome), [0, 10, 20, 30]);
    assert_eq!(outcome.samples[outcome.slots[0].unwrap()], 4500.0);
    assert_eq!(recounts(&outcome).len(), 35, "every change is recorded");
    assert_eq!(outcome.accepted(0), 35);
}

#[test]
fn a_count_beyond_the_limit_changes_nothing_and_the_update_counts() {
    let run = run(23, |_| 1_000_000_000);
    let learner = run.wanted.learner();
    let outcome = run.run();
    assert_eq!(replanned(&outcome), [0]);
    // A device counts what it holds at the slot that is free when it says hello, which another may take before it.
    let held: Vec<f64> = (0..3).map(|slot| fedflip_learn::Learner::samples(&learner, slot) as f64).collect();
    assert!(outcome.samples.iter().all(|samples| held.contains(samples)), "{:?}", outcome.samples);
    assert!(recounts(&outcome).is_empty());
    assert_eq!(outcome.accepted(0), 35);
    let noted = outcome.incidents.iter().filter(|(_, _, reason)| reason == "too_many_samples");
    assert!(noted.count() > 0, "{:?}", outcome.incidents);
}

#[test]
fn equal_weights_do_not_follow_the_counts() {
    let mut run = run(24, |round| 1000 * round);
    run.wanted.weights = Weights::Equal;
    let outcome = run.run();
    assert_eq!(replanned(&outcome), [0]);
    assert!(shares(&outcome, 0).iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-12));
    assert_eq!(outcome.samples[outcome.slots[0].unwrap()], 35_000.0, "the state keeps what devices hold");
}

/// A server that counts samples itself does not believe others.
#[test]
fn counts_that_the_server_knows_stay() {
    let mut run = run(25, |round| 1000 * round);
    run.wanted.counts_unknown = false;
    let learner = run.wanted.learner();
    let outcome = run.run();
    assert_eq!(replanned(&outcome), [0]);
    for (slot, samples) in outcome.samples.iter().enumerate() {
        assert_eq!(*samples, fedflip_learn::Learner::samples(&learner, slot) as f64);
    }
}
