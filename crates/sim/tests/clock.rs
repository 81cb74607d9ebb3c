//! The virtual clock times rounds as the simulated world does, to the bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;

use fedflip_engine::{Aggregation, Engine, Optimiser, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profiles::{Profile, ProfileSettings};
use fedflip_fleet::{
    Conditions, Downlink, Download, Fleet, FleetError, Mbit, Mbps, RoundCosts, Samples, Secs,
};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::Schedule;
use fedflip_sim::clock::{RoundWork, VirtualClock};
use fedflip_sim::{SimWorld, fates};

use common::{Kept, plan};

const SEED: u64 = 7;
const DEVICES: usize = 12;

fn fleet(learner: &SgdLearner) -> Fleet {
    let settings = ProfileSettings {
        devices: DEVICES,
        payload: Mbit::new(0.7).unwrap(),
        work: None,
        samples_total: 600 * DEVICES as u64,
        concentration: None,
        seed: 3,
    };
    let samples = (0..DEVICES).map(|n| Samples::new(learner.samples(n) as f64).unwrap());
    let samples: Vec<Samples> = samples.collect();
    Profile::named("paper").unwrap().fleet(&settings).unwrap().with_samples(&samples).unwrap()
}

fn work(round: u64, cohort: &[usize]) -> RoundWork<'_> {
    RoundWork { round, cohort, payload_mbit: None, compute_factor: 1.0, deadline_secs: None }
}

fn costs() -> RoundCosts {
    let download = Download { bandwidth: Mbps::new(5.0).unwrap(), per_upload: 1.0 };
    RoundCosts::from(Mbps::new(2.0).unwrap())
        .with_overhead(Secs::new(0.25).unwrap())
        .with_downlink(Downlink::Unicast(download))
}

#[test]
fn rounds_take_as_long_as_in_the_simulated_world() {
    let settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    let learner: SgdLearner = settings.learner(Path::new("")).unwrap().0;
    let fleet = fleet(&learner);
    let schedule = Schedule::new(plan(&fleet, "fixed=0.4"), u64::MAX);
    let conditions = Conditions { compute_jitter: 0.3, fading_db: 4.0, dropout: 0.1 };
    for deadline_secs in [None, Some(2.5)] {
        let engine = Engine {
            fleet: &fleet,
            schedule: &schedule,
            costs: costs(),
            division: Division::Adaptive,
            deadline_secs,
            deadline_margin: 0.1,
            aggregation: Aggregation::Unbiased,
            optimiser: Optimiser::default(),
            stop: Stop::after_rounds(100),
        };
        let mut rounds = Kept::default();
        let mut state = State::new(learner.initial_model(1));
        with_crew(&learner, 1, |crew| {
            let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, (SEED, 0.0));
            engine.run(&mut world, &mut state, &mut rounds).unwrap()
        });
        let mut clock = VirtualClock {
            fleet: Arc::new(fleet.clone()),
            costs: costs(),
            division: Division::Adaptive,
            conditions,
            deadline_secs,
            deadline_margin: 0.1,
            seed: SEED,
            now_secs: 0.0,
        };
        for record in &rounds.0 {
            let timed = clock.round(work(record.round, &record.cohort)).unwrap();
            assert_eq!((timed.start_secs, timed.round_secs), (record.start_secs, record.round_secs));
            let mbps = timed.divided.allocation.shares.iter().map(|share| share.mbps as f32);
            assert_eq!(mbps.collect::<Vec<f32>>(), record.mbps);
            let lost = |reason: &str| {
                let of_reason = record.lost.iter().filter(|lost| lost.reason == reason);
                of_reason.map(|lost| lost.device).collect::<Vec<_>>()
            };
            assert_eq!(timed.fates.vanished, lost(fates::VANISHED));
            assert_eq!(timed.fates.late, lost("deadline"));
        }
        assert!(rounds.0.iter().any(|round| !round.lost.is_empty()), "the test has lost devices");
        assert_eq!(clock.now_secs, state.secs);
    }
}

#[test]
fn payloads_deadlines_and_positions_of_a_round() {
    let settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    let learner: SgdLearner = settings.learner(Path::new("")).unwrap().0;
    let mut clock = VirtualClock {
        fleet: Arc::new(fleet(&learner)),
        costs: Mbps::new(2.0).unwrap().into(),
        division: Division::Adaptive,
        conditions: Conditions::default(),
        deadline_secs: Some(1000.0),
        deadline_margin: 0.0,
        seed: SEED,
        now_secs: 0.0,
    };
    let compute_secs = clock.fleet.compute_secs()[1];
    let timed = clock.round(RoundWork { payload_mbit: Some(&[6.0]), ..work(1, &[1]) }).unwrap();
    assert!((timed.round_secs - (compute_secs + 3.0)).abs() < 1e-9, "6 Mbit at 2 Mbit/s");
    let half = RoundWork { payload_mbit: Some(&[0.0]), compute_factor: 0.5, ..work(2, &[1]) };
    assert!((clock.round(half).unwrap().round_secs - 0.5 * compute_secs).abs() < 1e-9);
    let late = RoundWork { deadline_secs: Some(1e-3), ..work(3, &[1]) };
    let timed = clock.round(late).unwrap();
    assert_eq!((timed.fates.late, timed.round_secs > 0.0), (vec![1], true));
    assert_eq!(clock.round(work(4, &[])).unwrap().round_secs, 0.0);
    assert!(matches!(clock.round(work(5, &[2, 1])), Err(FleetError::UnorderedPosition { .. })));
    assert!(matches!(clock.round(work(5, &[DEVICES])), Err(FleetError::BadPosition { .. })));
}
