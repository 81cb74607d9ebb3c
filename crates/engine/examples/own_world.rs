//! A world of your own: two devices that always take part, and move the model halfway to 1 in every round.
//!
//! `cargo run --example own_world`

use std::error::Error;
use std::sync::Arc;

use fedflip_engine::{
    Aggregation, BoxedError, Cohort, Control, Engine, EngineError, Event, Optimiser, Order, Outcome, Sink,
    State, Stop, Target, TargetMode, Update, World,
};
use fedflip_fleet::bandwidth::{self, Division};
use fedflip_fleet::{Device, Fleet, Mbps, Metrics, ModelVector, Samples, Secs};
use fedflip_learn::metrics::METRICS;
use fedflip_learn::{LearnError, Metric};
use fedflip_plan::{Plan, Schedule, Scheme};
use fedflip_record::Round;

struct Halves<'a> {
    fleet: &'a Fleet,
    updates: Vec<Update>,
    secs: f64,
}

impl World for Halves<'_> {
    type Receipt = ();

    fn now_secs(&self) -> f64 {
        self.secs
    }

    fn metrics(&self) -> &[Metric] {
        &METRICS[..1]
    }

    fn open(&mut self, _: u64, _: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
        cohort.clear();
        bandwidth::device_jobs(self.fleet, &[0, 1]).for_each(|device_job| cohort.push(device_job, 0.5));
        Ok(())
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        self.secs += order.allocation.round_secs;
        self.updates.extend(order.allocation.shares.iter().map(|share| Update {
            device: share.device,
            delta: vec![(1.0 - order.model.as_slice()[0]) / 2.0],
            train_loss: 0.0,
            took_secs: [share.compute_secs, share.upload_secs],
        }));
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        self.updates.pop().map(Event::Update).ok_or_else(|| EngineError::World("no update is left".into()))
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        Ok(Metrics::from([("accuracy", f64::from(model.as_slice()[0]))]))
    }

    fn close(&mut self, _: u64, _: f64) -> Result<(), EngineError> {
        Ok(())
    }
}

struct Print;

impl Sink for Print {
    fn round(&mut self, record: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        println!("round {} after {:.1} s: {:?}", record.round, state.secs, record.metrics);
        Ok(Control::GoOn)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut fleet = Fleet::builder();
    for name in ["phone", "laptop"] {
        let (compute_secs, comm_secs, samples) = (Secs::new(1.0)?, Secs::new(5.0)?, Samples::new(10.0)?);
        fleet.push(Device::new(name, compute_secs, comm_secs, samples))?;
    }
    let fleet = fleet.build()?;
    let target = Target { metric: "accuracy".to_owned(), at: 0.9, mode: TargetMode::Max };
    let engine = Engine {
        fleet: &fleet,
        schedule: &Schedule::new(Plan::baseline(&fleet, &Scheme::Full)?, 1),
        costs: Mbps::new(10.0)?.into(),
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop { target: Some(target), ..Stop::after_rounds(100) },
    };
    let mut world = Halves { fleet: &fleet, updates: Vec::new(), secs: 0.0 };
    let outcome = engine.run(&mut world, &mut State::new(ModelVector::new(vec![0.0])), &mut Print)?;
    assert!(matches!(outcome, Outcome::Ended(end) if end.rounds == 4));
    Ok(())
}
