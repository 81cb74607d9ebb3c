//! The one round loop, whatever the world it runs in.
//!
//! Synchronous and without a clock of its own: a [`World`] says what time it is, who takes part and what
//! became of their updates. The simulated world and the deployed one are behind the same trait, so the steps
//! of a round, the order of sums and the records are the same for both.
//!
//! # Layout
//!
//! - [`world`]: the seam: who takes part, and what comes back.
//! - [`round`]: a round, its steps numbered as in the paper's Algorithm 1.
//! - [`aggregation`]: which sum of the updates a run makes: unbiased, or robust and biased.
//! - [`aggregate`]: that sum in device order, whatever the order of arrival; [`trimmed`]: one without its ends.
//! - [`norms`]: how long updates usually are.
//! - [`optimiser`]: what the server does with that sum, and what it remembers.
//! - [`run`]: rounds until the target, a cap, or whoever watches says stop.
//! - [`state`]: what a run is between two rounds, and its checkpoint.
//! - [`error`]: one enum for all that can stop a run.

#![warn(missing_docs)]

pub mod aggregate;
pub mod aggregation;
pub mod error;
pub mod norms;
pub mod optimiser;
pub mod round;
pub mod run;
pub mod state;
pub mod trimmed;
pub mod world;

pub use aggregation::{Aggregation, Clip};
pub use error::EngineError;
pub use norms::NormHistory;
pub use optimiser::Optimiser;
pub use run::{Control, Engine, Outcome, Sink, Stop};
pub use state::State;
pub use world::{Event, Order, Update, World};
