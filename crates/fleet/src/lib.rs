//! The nouns of fedflip: everything that both the planner and the round engine speak about.
//!
//! A [`Fleet`] is a validated list of devices. In each round a cohort of them takes part and shares one
//! band; [`bandwidth`] is the only place that knows how the band is split and how long the round then
//! takes. Randomness never comes from the environment: every draw has a [`StreamKey`].
//!
//! # Layout
//!
//! - [`units`]: seconds, Mbit, Mbit/s, GFLOP and probabilities as types that check their range.
//! - [`fleet`]: [`Device`] and [`Fleet`], with data shares a_n that sum to one.
//! - [`names`]: a million device names in one string; a device's type, by its name.
//! - [`mod@nearest`]: the name that somebody may have meant.
//! - [`mod@printable`]: text of others, safe for a terminal.
//! - [`csv_file`]: fleets as CSV, with refusals that name file, line, column and value.
//! - `csv_lines`: lines of fields, with the right line number and bounded memory.
//! - [`profile`]: the paper's five device types and how a fleet is made from them.
//! - [`bandwidth`]: T̂(K) and the shares f_n: all who take part finish together.
//! - [`deadline`]: the same where a round has a deadline: who can make it does.
//! - [`stream`]: random streams keyed by (seed, purpose, round, device).
//! - [`cohort`]: independent coin flips for a whole fleet at the cost of the cohort.
//! - [`metrics`]: the named results of an evaluation.
//! - [`model`]: the flat parameter vector and its weighted sum.
//! - [`error`]: one enum for all that can be wrong with a fleet, each with a hint.

#![warn(missing_docs)]

pub mod bandwidth;
pub mod cohort;
pub mod csv_file;
mod csv_lines;
pub mod deadline;
pub mod error;
pub mod fleet;
pub mod metrics;
pub mod model;
pub mod names;
pub mod nearest;
pub mod printable;
pub mod profile;
pub mod stream;
pub mod units;

pub use bandwidth::{Allocation, Share};
pub use cohort::CohortSampler;
pub use error::FleetError;
pub use fleet::{DEVICES_MAX, Device, Fleet, FleetBuilder};
pub use metrics::Metrics;
pub use model::ModelVector;
pub use names::type_of;
pub use nearest::nearest;
pub use printable::printable;
pub use stream::{Purpose, StreamKey};
pub use units::{Gflop, GflopPerSec, Mbit, Mbps, OutOfRange, Probability, Samples, Secs};
