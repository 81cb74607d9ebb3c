//! Fleets that change while a run is in progress, and servers that wait for devices after a restart.

use fedflip_net::server::Ended;
use fedflip_net::status::{DEVICES, FleetStatus, Standing};
use fedflip_record::folder::RECORDS;
use fedflip_record::{Line, Replan};

use crate::roles::Actor;
use crate::run::{Outcome, SimRun};

fn replans(outcome: &Outcome) -> Vec<Replan> {
    let records = String::from_utf8(outcome.file(RECORDS)).unwrap();
    let lines = records.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
    lines.filter_map(|line| if let Line::Replan(replan) = line { Some(replan) } else { None }).collect()
}

/// a_n/q_n of the last plan add up to the weights of those who are left.
fn shares(outcome: &Outcome) -> Vec<f64> {
    outcome.plans.last().unwrap().devices.iter().map(|device| device.weight * device.q).collect()
}

#[test]
fn a_retired_device_leaves_with_the_next_plan_and_the_others_share_its_weight() {
    let actors = [0.2, 0.3, 0.4, 0.3].map(Actor::honest).to_vec();
    let run = SimRun { retire_at_secs: vec![(5.0, 2)], ..SimRun::full(11, actors, 30) };
    let outcome = run.run();
    assert!(matches!(outcome.ending.ended, Ended::Over(_)));
    let slot = outcome.slots[2].unwrap();
    let [replan] = &replans(&outcome)[..] else { panic!("{:?}", replans(&outcome)) };
    assert_eq!((&replan.retired[..], &replan.benched[..]), (&[slot][..], &[][..]));
    assert!(replan.reason.contains("was retired"), "{}", replan.reason);
    assert!((1..30).contains(&replan.after_round), "{replan:?}");
    for round in &outcome.rounds {
        assert_eq!(round.cohort.contains(&slot), round.round <= replan.after_round, "{round:?}");
        assert!(round.lost.is_empty() && round.round_secs < 1.0, "nobody waits for it: {round:?}");
    }
    let shares = shares(&outcome);
    assert_eq!(shares[slot], 0.0);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    let told = outcome.ending.events.iter().find(|noted| noted.actor == 2 && noted.what.contains("Retired"));
    assert!(told.is_some(), "its agent ends and says why: {:?}", outcome.ending.events.last());
    let status: FleetStatus = serde_json::from_slice(&outcome.file(DEVICES)).unwrap();
    assert_eq!(status.devices.len(), 4);
    assert_eq!(status.devices[slot].version, env!("CARGO_PKG_VERSION"));
    assert!(status.devices[slot].standing == Standing::Retired && !status.devices[slot].is_connected);
}

/// The device was away when it was retired, the server waits for it, and would wait for ever; a restart changes nothing.
#[test]
fn a_server_that_waits_for_a_device_notices_that_it_was_retired() {
    let mut actors = [0.2, 0.3, 0.4].map(Actor::honest).to_vec();
    actors.push(Actor::scripted(|stage| async move {
        let device = stage.enrolled().await;
        drop(device);
    }));
    let retired = SimRun { retire_at_secs: vec![(40.0, 3)], secs_max: 200.0, ..SimRun::full(12, actors, 10) };
    let killed = SimRun { kill_at_secs: vec![20.0, 42.0], ..retired.clone() };
    // Before the first round the server waits for devices that evaluate the first model.
    let mut evaluating = retired.clone();
    evaluating.wanted.device_evaluation = Some(1.0);
    for run in [retired, killed, evaluating] {
        let outcome = run.run();
        assert!(matches!(outcome.ending.ended, Ended::Over(_)), "{:?}", outcome.ending.ended);
        assert!(outcome.ending.secs > 40.0);
        assert_eq!(replans(&outcome).len(), 1);
        assert_eq!(outcome.rounds.len(), 10);
        assert!(outcome.round_secs_max() < 1.0, "the wait is not part of a round");
    }
}

/// A server that stops while it waits for devices has not evaluated its first model: it does so when it resumes.
#[test]
fn a_server_that_stops_before_its_first_evaluation_commits_none() {
    let mut actors = [0.2, 0.3].map(Actor::honest).to_vec();
    actors.push(Actor::scripted(|stage| async move {
        let device = stage.enrolled().await;
        drop(device);
    }));
    let mut run = SimRun { secs_max: 20.0, ..SimRun::full(14, actors, 10) };
    run.wanted.device_evaluation = Some(1.0);
    let outcome = run.run();
    assert_eq!(outcome.ending.ended, Ended::Stopped);
    let records = String::from_utf8(outcome.file(RECORDS)).unwrap();
    assert!(!records.is_empty() && !records.contains("initial"), "{records}");
}

#[test]
fn a_fleet_is_full_at_its_limit_and_a_retired_device_makes_no_second_share() {
    let actors = [0.2, 0.3, 0.4].map(Actor::honest).to_vec();
    let mut run = SimRun { retire_at_secs: vec![(5.0, 0)], ..SimRun::full(13, actors, 30) };
    run.wanted.devices_max = Some(2);
    run.wanted.devices_min = 2;
    run.wanted.replan_every = Some(10);
    let outcome = run.run();
    assert!(matches!(outcome.ending.ended, Ended::Over(_)));
    let refused = |noted: &&crate::run::Noted| noted.what.contains("FleetFull");
    let refused: Vec<usize> = outcome.ending.events.iter().filter(refused).map(|noted| noted.actor).collect();
    assert_eq!(refused.len(), 1, "{:?}", outcome.ending.events);
    assert_eq!(outcome.slots.iter().filter(|slot| slot.is_some()).count(), 2);
}

/// A device that never delivers is benched, and then retired: the records say so once, and the bench does not return it.
#[test]
fn a_benched_device_that_is_retired_is_recorded() {
    let mut actors = [0.2, 0.3, 0.4].map(Actor::honest).to_vec();
    actors.push(Actor::scripted(crate::roles::never_uploads));
    let retired = SimRun { retire_at_secs: vec![(25.0, 3)], ..SimRun::full(16, actors, 80) };
    let killed = SimRun { kill_at_secs: vec![30.0], ..retired.clone() };
    for run in [retired, killed] {
        let outcome = run.run();
        let slot = outcome.slots[3].unwrap();
        let of =
            |holds: &dyn Fn(&Replan) -> bool| replans(&outcome).iter().filter(|plan| holds(plan)).count();
        assert!(of(&|plan| plan.benched == [slot]) > 0, "{:?}", replans(&outcome));
        assert_eq!(of(&|plan| plan.reason.contains("was retired")), 1, "{:?}", replans(&outcome));
        assert_eq!(replans(&outcome).last().unwrap().retired, [slot]);
    }
}

/// One of four devices is gone for good when the server comes back, which wants more devices than there are: those that
/// attend are enough, at once.
#[test]
fn a_quorum_is_enough_after_a_restart_even_if_more_devices_may_enrol() {
    let mut actors = [0.5, 0.5, 0.5].map(Actor::honest).to_vec();
    actors.push(Actor::scripted(|stage| async move {
        let mut device = stage.enrolled().await;
        while let Some(opened) = device.opened().await {
            device.answer(opened.round, Vec::new()).await;
            if opened.round == 3 {
                return;
            }
        }
    }));
    let mut run = SimRun { kill_at_secs: vec![9.0], ..SimRun::full(15, actors, 30) };
    run.wanted.timeouts.quorum = 0.5;
    let mut restarted = run.wanted.clone();
    (restarted.devices_min, restarted.rounds) = (8, 31);
    run.restarted = Some(restarted);
    let outcome = run.run();
    assert!(matches!(outcome.ending.ended, Ended::Over(_)), "{:?}", outcome.ending.ended);
    let trained = outcome.rounds.iter().map(|round| round.round_secs).sum::<f64>();
    assert!(outcome.ending.secs < trained + 7.0, "{} s for {trained} s of rounds", outcome.ending.secs);
}

/// Neither the time without a server nor the wait for devices after it is part of the run or of a round.
#[test]
fn the_wait_for_devices_after_a_restart_is_not_booked() {
    let actors = [0.5, 0.7, 0.9].map(Actor::honest).to_vec();
    let calm = SimRun::full(7, actors, 8);
    let killed = SimRun { kill_at_secs: vec![8.3], down_secs: 60.0, ..calm.clone() };
    let [calm, killed] = [calm, killed].map(|run| run.run());
    let end_secs = |outcome: &Outcome| outcome.rounds.last().unwrap().end_secs();
    assert_eq!(killed.rounds.len(), 8);
    assert!(killed.ending.secs > calm.ending.secs + 60.0);
    assert!(killed.round_secs_max() < calm.round_secs_max() + 0.2, "{} s", killed.round_secs_max());
    // An update that was trained before the kill is not trained again.
    assert!(end_secs(&killed) < end_secs(&calm) + 0.2, "{} {}", end_secs(&killed), end_secs(&calm));
    for pair in killed.rounds.windows(2) {
        assert!(pair[1].start_secs - pair[0].end_secs() < 0.2, "{pair:?}");
    }
}
