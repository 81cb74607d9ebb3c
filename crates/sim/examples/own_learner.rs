//! A learner of your own in a simulation: a fleet with a plan, coins, and a virtual clock.
//!
//! The learner is that of `crates/learn/examples/own_model.rs`. `cargo run -p fedflip-sim --example own_learner`

use std::error::Error;

use fedflip_engine::{
    Aggregation, BoxedError, Control, Engine, Optimiser, Outcome, Sink, State, Stop, Target, TargetMode,
};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Conditions, Device, Fleet, Mbps, Samples, Secs};
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::{Plan, Schedule};
use fedflip_record::Round;
use fedflip_sim::SimWorld;

#[allow(dead_code, unreachable_pub, reason = "the other example is a whole program")]
#[path = "../../learn/examples/own_model.rs"]
mod own_model;

struct Print;

impl Sink for Print {
    fn round(&mut self, record: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        println!(
            "round {} after {:.1} s: {:?} {:?}",
            record.round, state.secs, record.cohort, record.metrics
        );
        Ok(Control::GoOn)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let learner = own_model::Line::new(5);
    let mut fleet = Fleet::builder();
    for (device, name) in ["phone", "tablet", "laptop", "watch", "board"].into_iter().enumerate() {
        let (compute_secs, comm_secs) = (Secs::new(1.0 + device as f64)?, Secs::new(5.0)?);
        let samples = Samples::new(learner.samples(device) as f64)?;
        fleet.push(Device::new(name, compute_secs, comm_secs, samples))?;
    }
    let (fleet, seed) = (fleet.build()?, 1);
    // Each device takes part in three of five rounds, by its own coin.
    let schedule = Schedule::new(Plan::baseline(&fleet, &"fixed=0.6".parse()?)?, 1);
    let target = Target { metric: "loss".to_owned(), at: 0.05, mode: TargetMode::Min };
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs: Mbps::new(10.0)?.into(),
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop { target: Some(target), ..Stop::after_rounds(500) },
    };
    let mut state = State::new(learner.initial_model(seed));
    let outcome = with_crew(&learner, 2, |crew| {
        let mut world = SimWorld::new(crew, &fleet, &schedule, Conditions::default(), (seed, 0.0));
        engine.run(&mut world, &mut state, &mut Print)
    })?;
    assert!(matches!(outcome, Outcome::Ended(end) if end.rounds < 500), "a straight line can be learnt");
    Ok(())
}
