//! What devices without rounds cost besides training: the timeline, the aggregation and the steps.

use fedflip_engine::{Aggregation, Engine, Optimiser, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Conditions, Mbps};
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::{Buffered, CohortSize, Plan, Schedule, Scheme};
use fedflip_sim::{BufferedWorld, Timeline};

use super::bench_engine::{Clocked, fleet, idle_learner};
use crate::error::CliError;
use crate::interrupt::now;

const DEVICES: usize = 1_000;
const CONCURRENCY: usize = 100;

/// Events of the timeline per second: with no local iterations, the 21,840-parameter model and ten updates per step.
pub(super) fn events_per_sec(threads: usize, secs: f64) -> Result<f64, CliError> {
    let learner = idle_learner(DEVICES)?;
    let fleet = fleet(DEVICES)?;
    let updates = CohortSize::TEN;
    let buffered = Buffered::new(updates, Some(CONCURRENCY), DEVICES)?;
    // Nobody looks at the model.
    let schedule = Schedule::new(Plan::baseline(&fleet, &Scheme::FedBuff(updates))?, u64::MAX);
    let costs = Mbps::new(100.0).map_err(CliError::flag("bandwidth"))?.into();
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs,
        division: Division::Equal,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(u64::MAX),
    };
    let mut state = State::new(learner.initial_model(1));
    with_crew(&learner, threads, |crew| {
        let timeline = Timeline::new(&fleet, buffered, costs, Conditions::default(), (1, 0.0));
        let mut world = BufferedWorld::new(crew, timeline, buffered, 1);
        let start = now();
        let mut sink = Clocked { folder: None, end: start + std::time::Duration::from_secs_f64(secs) };
        engine.run(&mut world, &mut state, &mut sink)?;
        Ok(world.events() as f64 / start.elapsed().as_secs_f64())
    })
}
