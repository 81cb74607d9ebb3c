//! The one round loop, for simulated and real devices alike.
//!
//! The loop is synchronous and has no clock of its own: a [`World`] tells the time, the cohort of a round and what became
//! of its updates. The simulated world and the deployed one implement the same trait, so the steps of a round, the
//! order of sums and the records are the same for both. A [`Sink`] keeps what the run records.
//!
//! ```
//! use std::sync::Arc;
//!
//! use fedflip_engine::world::Cohort;
//! use fedflip_engine::*;
//! use fedflip_fleet::bandwidth::{self, Division};
//! use fedflip_fleet::{Device, Fleet, Mbps, Metrics, ModelVector, Probability, Samples, Secs};
//! use fedflip_learn::{LearnError, Metric, metrics::METRICS};
//! use fedflip_plan::{Plan, Schedule, Scheme};
//!
//! /// Two devices that always take part, and move the model halfway to 1.
//! struct Halves<'a> {
//!     fleet: &'a Fleet,
//!     waiting: Vec<Update>,
//! }
//!
//! impl World for Halves<'_> {
//!     type Receipt = ();
//!     fn now_secs(&self) -> f64 { 0.0 }
//!     fn metrics(&self) -> &[Metric] { &METRICS[..1] }
//!     fn open(&mut self, _: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
//!         cohort.clear();
//!         self.waiting.clear();
//!         for entrant in bandwidth::entrants(self.fleet, &[0, 1]) {
//!             let delta = vec![(1.0 - model.as_slice()[0]) / 2.0];
//!             self.waiting.push(Update { device: entrant.device, delta, train_loss: 0.0, took_secs: [1.0; 2] });
//!             cohort.push(entrant, 0.5);
//!         }
//!         Ok(())
//!     }
//!     fn dispatch(&mut self, _: Order<'_>) -> Result<(), EngineError> { Ok(()) }
//!     fn next_event(&mut self) -> Result<Event, EngineError> {
//!         self.waiting.pop().map(Event::Update).ok_or_else(|| EngineError::World("nobody is left".into()))
//!     }
//!     fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
//!         Ok(Metrics::from([("accuracy", f64::from(model.as_slice()[0]))]))
//!     }
//!     fn close(&mut self, _: u64, _: f64) -> Result<(), EngineError> { Ok(()) }
//! }
//!
//! struct Print;
//!
//! impl Sink for Print {
//!     fn round(&mut self, record: fedflip_record::Round, _: (), _: &State) -> Result<Control, BoxedError> {
//!         println!("round {}: {:?}", record.round, record.metrics);
//!         Ok(Control::GoOn)
//!     }
//! }
//!
//! let mut fleet = Fleet::builder();
//! for name in ["phone", "laptop"] {
//!     let secs = Secs::new(1.0)?;
//!     let samples = Samples::new(10.0)?;
//!     fleet.push(Device { name, compute_secs: secs, comm_secs: secs, samples, availability: Probability::ONE })?;
//! }
//! let fleet = fleet.build()?;
//! let plan = Plan::baseline(&fleet, Scheme::Full)?;
//! let target = Target { metric: "accuracy".to_owned(), at: 0.9, mode: TargetMode::Max };
//! let engine = Engine {
//!     fleet: &fleet,
//!     schedule: &Schedule::new(plan, 1),
//!     band: Mbps::new(10.0)?,
//!     division: Division::Adaptive,
//!     deadline_secs: None,
//!     deadline_margin: 0.0,
//!     aggregation: Aggregation::Unbiased,
//!     optimiser: Optimiser::default(),
//!     stop: Stop { target: Some(target), ..Stop::after_rounds(100) },
//! };
//! let mut world = Halves { fleet: &fleet, waiting: Vec::new() };
//! let outcome = engine.run(&mut world, &mut State::new(ModelVector::new(vec![0.0])), &mut Print)?;
//! assert!(matches!(outcome, Outcome::Ended(end) if end.rounds == 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! - [`world`]: the seam to the devices.
//! - [`round`]: a round, its steps numbered as in the paper's Algorithm 1.
//! - [`aggregation`]: which sum of the updates a run makes: unbiased, or robust and biased.
//! - [`aggregate`]: that sum in device order, whatever the order of arrival; [`trimmed`]: a sum without its extremes.
//! - [`norms`]: the usual norm of updates.
//! - [`optimiser`]: what the server does with that sum, and which vectors it keeps.
//! - [`run`]: rounds until the end; [`stop`]: when that is.
//! - [`state`]: the state of a run between two rounds, and its checkpoint.
//! - [`error`]: the errors that stop a run.

#![warn(missing_docs)]

pub mod aggregate;
pub mod aggregation;
pub mod error;
pub mod norms;
pub mod optimiser;
pub mod round;
pub mod run;
pub mod state;
pub mod stop;
pub mod trimmed;
pub mod world;

pub use aggregation::{Aggregation, Clip};
pub use error::{BoxedError, EngineError};
pub use fedflip_record::{Target, TargetMode};
pub use norms::NormHistory;
pub use optimiser::Optimiser;
pub use run::{Control, Engine, Outcome, Sink};
pub use state::State;
pub use stop::Stop;
pub use world::{Cohort, Event, Order, Update, World};
