//! The one round loop, for simulated and real devices alike.
//!
//! The loop is synchronous and has no clock of its own: a [`World`] tells the time, the cohort of a round and what became
//! of its updates. The simulated world and the deployed one implement the same trait, so the steps of a round, the
//! order of sums and the records are the same for both. A [`Sink`] keeps what the run records.
//!
//! `examples/own_world.rs` shows a world and a sink. A run ends at a target of any metric that its learner
//! evaluates, or at a cap:
//!
//! ```
//! use fedflip_engine::{Stop, Target, TargetMode};
//! use fedflip_fleet::Metrics;
//!
//! let target = Target { metric: "accuracy".to_owned(), at: 0.95, mode: TargetMode::Max };
//! assert!(target.is_met(&Metrics::from([("accuracy", 0.96), ("loss", 0.2)])));
//! let stop = Stop { target: Some(target), ..Stop::after_rounds(500) };
//! assert_eq!(stop.rounds_max, 500);
//! ```
//!
//! # Layout
//!
//! - [`world`]: the seam to the devices; [`lead`]: what a round takes before its cohort computes.
//! - [`round`]: a round, its steps numbered as in the paper's Algorithm 1.
//! - [`divided`]: the division of the bandwidth, and the times before and after the work of devices.
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
pub mod divided;
pub mod error;
pub mod lead;
pub mod norms;
pub mod optimiser;
pub mod round;
pub mod run;
pub mod state;
pub mod stop;
pub mod trimmed;
pub mod world;

pub use aggregation::{Aggregation, Clip};
pub use divided::Divided;
pub use error::{BoxedError, EngineError};
pub use fedflip_record::{Target, TargetMode};
pub use lead::Lead;
pub use norms::NormHistory;
pub use optimiser::Optimiser;
pub use run::{Control, Engine, Outcome, Sink};
pub use state::State;
pub use stop::{Stop, in_words};
pub use world::{Cohort, Event, Order, Update, World};
