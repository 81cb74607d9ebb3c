//! What a round costs besides computing and uploading, on the virtual clock.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Kept, plan};
use fedflip_engine::{Aggregation, Engine, Optimiser, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Columns, Conditions, Downlink, Download, Fleet, Mbps, ModelVector, RoundCosts, Secs};
use fedflip_learn::sgd::Steps;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::{Problem, Schedule};
use fedflip_record::Round;
use fedflip_sim::SimWorld;

const DEVICES: usize = 8;

fn run(costs: RoundCosts) -> (Fleet, Vec<Round>, Arc<ModelVector>) {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.sgd.steps = Steps::Iterations(3);
    let learner = settings.learner(Path::new("")).unwrap().0;
    let column = |of: &dyn Fn(usize) -> f64| (0..DEVICES).map(of).collect::<Vec<f64>>();
    let fleet = Fleet::from_columns(Columns {
        compute_secs: &column(&|n| 0.5 + 0.25 * n as f64),
        comm_secs: &column(&|n| 40.0 - n as f64),
        samples: &column(&|n| learner.samples(n) as f64),
        ..Columns::default()
    })
    .unwrap();
    let schedule = Schedule::new(plan(&fleet, "fixed=0.2"), u64::MAX);
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs,
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(60),
    };
    let mut state = State::new(learner.initial_model(9));
    let mut kept = Kept::default();
    with_crew(&learner, 1, |crew| {
        let mut world = SimWorld::new(crew, &fleet, &schedule, Conditions::default(), (9, 0.0));
        engine.run(&mut world, &mut state, &mut kept).unwrap()
    });
    (fleet, kept.0, state.model)
}

/// The download comes first, then computing and uploading together, and the overhead; an empty round takes the overhead
/// alone. Neither changes a model.
#[test]
fn rounds_take_their_download_and_overhead() {
    let bandwidth = Mbps::new(20.0).unwrap();
    let download = Download { bandwidth: Mbps::new(10.0).unwrap(), per_upload: 2.0 };
    let free = RoundCosts::from(bandwidth);
    let (fleet, plain, model) = run(free);
    for downlink in [Downlink::Broadcast(download), Downlink::Unicast(download)] {
        let costs = free.with_overhead(Secs::new(0.25).unwrap()).with_downlink(downlink);
        let (_, costed, same) = run(costs);
        assert_eq!(same, model);
        let problem = Problem::new(&fleet, costs);
        let mut empty = 0;
        for (free, costed) in plain.iter().zip(&costed) {
            let download_secs = downlink.secs(costed.cohort.iter().map(|&device| problem.job(device)));
            assert_eq!((&costed.cohort, costed.download_secs), (&free.cohort, download_secs));
            let wanted = free.round_secs + download_secs + 0.25;
            assert!((costed.round_secs - wanted).abs() < 1e-9, "{} is not {wanted}", costed.round_secs);
            empty += usize::from(costed.cohort.is_empty() && download_secs == 0.0);
        }
        assert!(empty > 0, "no round was empty");
    }
}
