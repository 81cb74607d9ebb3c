//! Rounds with a deadline in the simulated world: a device that cannot make it costs nobody else an update.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use fedflip_engine::{Aggregation, Engine, Optimiser, State, Stop};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Device, Fleet, Mbps, Probability, Samples, Secs};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::Schedule;
use fedflip_record::Round;
use fedflip_sim::SimWorld;

use common::{Kept, plan};

const DEADLINE_SECS: f64 = 4.0;
const ROUNDS: u64 = 200;

/// Everybody takes part in every round; who was lost, and what remained of the model.
fn run(compute_secs: &[f64], division: Division, compute_jitter: f64) -> (Vec<Round>, BTreeSet<usize>) {
    let settings = TaskSettings::paper("synthetic".parse().unwrap(), compute_secs.len());
    let learner: SgdLearner = settings.learner(Path::new("")).unwrap().0;
    let mut fleet = Fleet::builder();
    for (n, &secs) in compute_secs.iter().enumerate() {
        let device = Device {
            name: &format!("d{n}"),
            compute_secs: Secs::new(secs).unwrap(),
            comm_secs: Secs::new(1.0).unwrap(),
            samples: Samples::new(learner.samples(n) as f64).unwrap(),
            availability: Probability::ONE,
            link_mbps: None,
            snr_db: None,
        };
        fleet.push(device).unwrap();
    }
    let fleet = fleet.build().unwrap();
    let schedule = Schedule::new(plan(&fleet, "full"), u64::MAX);
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs: Mbps::new(10.0).unwrap().into(),
        division,
        deadline_secs: Some(DEADLINE_SECS),
        deadline_margin: if compute_jitter > 0.0 { 0.1 } else { 0.0 },
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(ROUNDS),
    };
    let conditions = Conditions { compute_jitter, ..Conditions::default() };
    let mut rounds = Kept::default();
    let mut state = State::new(learner.initial_model(1));
    with_crew(&learner, 1, |crew| {
        let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, (7, 0.0));
        engine.run(&mut world, &mut state, &mut rounds).unwrap()
    });
    let lost = rounds.0.iter().flat_map(|round| &round.lost).map(|lost| lost.device).collect();
    (rounds.0, lost)
}

/// The figures of the trial: all four were lost in 200 of 200 rounds.
#[test]
fn three_quick_devices_keep_their_updates_beside_one_that_takes_three_deadlines() {
    for division in [Division::Adaptive, Division::Equal] {
        for compute_jitter in [0.0, 0.3] {
            let (rounds, lost) = run(&[0.05, 0.05, 0.05, 12.0], division, compute_jitter);
            assert_eq!(lost, BTreeSet::from([3]), "{division:?} {compute_jitter}");
            assert_eq!(rounds.len() as u64, ROUNDS);
            assert!(rounds.iter().all(|round| round.lost.len() == 1 && round.train_loss.is_some()));
            assert!(rounds.iter().all(|round| round.round_secs <= DEADLINE_SECS));
        }
    }
}

/// The quick devices' updates are those of a run in which the slow device is slower still: nothing about it matters.
#[test]
fn how_slow_a_device_is_does_not_matter_to_the_others() {
    let of = |secs: f64| run(&[0.05, 0.3, 2.0, secs], Division::Adaptive, 0.3).0;
    let (slow, slower) = (of(12.0), of(86_400.0));
    for (a, b) in slow.iter().zip(&slower) {
        assert_eq!((&a.lost, a.train_loss, &a.mbps[..3]), (&b.lost, b.train_loss, &b.mbps[..3]));
    }
}

/// Where everybody can finish together in time, a deadline changes no byte.
#[test]
fn a_deadline_that_does_not_bind_changes_nothing() {
    let (rounds, lost) = run(&[0.05, 0.3, 2.0, 3.4], Division::Adaptive, 0.0);
    assert!(lost.is_empty());
    assert!(rounds.iter().all(|round| round.compute_secs.is_empty() && round.upload_secs.is_empty()));
}
