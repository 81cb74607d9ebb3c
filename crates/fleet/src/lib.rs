//! The basic types of fedflip, shared by the planner and the round engine.
//!
//! A [`Fleet`] is a validated list of devices. In each round a cohort of them takes part and shares one bandwidth;
//! [`bandwidth`] computes the shares and the length of the round. Randomness never comes from the environment: every
//! draw has a [`StreamKey`].
//!
//! ```
//! use fedflip_fleet::bandwidth::{Division, allocate};
//! use fedflip_fleet::{Columns, Fleet, Mbps};
//!
//! let fleet = Fleet::from_columns(Columns {
//!     names: Some(&["phone", "laptop"]),
//!     compute_secs: &[2.0, 0.4],
//!     comm_secs: &[7.0, 7.0],
//!     samples: &[300.0, 100.0],
//!     ..Columns::default()
//! })?;
//! assert_eq!(fleet.weights(), [0.75, 0.25]);
//!
//! let round = allocate(&fleet, &[0, 1], Mbps::new(10.0)?, Division::Adaptive)?;
//! // The phone computes longer, so it gets more of the bandwidth, and both finish together.
//! assert!(round.shares[0].mbps > round.shares[1].mbps);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! - [`units`]: seconds, Mbit, Mbit/s, GFLOP and probabilities as types that check their range.
//! - [`mod@fleet`]: [`Device`] and [`Fleet`], with data shares a_n that sum to one; `columns`: a fleet from slices or vectors.
//! - [`csv_file`]: fleets as CSV files; [`csv_table`]: any table with a line per device, with errors that name file,
//!   line, column and value; `csv_lines`: lines of fields with their line numbers, in bounded memory.
//! - [`profile`]: the paper's five device types, and fleets made from them; [`profiles`]: named kinds of fleets.
//! - [`radio`]: the links of generated fleets on Wi-Fi, LTE and NB-IoT; `split`: the samples of their devices.
//! - [`link`]: links with limits of their own, and the bandwidth or spectrum that they share.
//! - `finish`: T̂(K), the time at which a cohort finishes together; [`bandwidth`]: the shares f_n for it.
//! - [`costs`]: what a round costs besides computing: the bandwidth, the download of the model, the overhead.
//! - [`deadline`]: the shares in a round with a deadline.
//! - [`transfers`]: a bandwidth that is divided anew whenever a transfer begins or ends.
//! - [`stream`]: random streams keyed by (seed, purpose, round, device).
//! - [`conditions`]: how the simulated world departs from the fleet's numbers.
//! - [`cohort`]: independent coin flips for a whole fleet at the cost of the cohort.
//! - [`metrics`]: the named results of an evaluation.
//! - [`model`]: the flat parameter vector and its weighted sum.
//! - [`names`]: a million device names in one string; [`type_of`]: the type of a device, by its name.
//! - [`named`]: a number for each named device, from a file; [`weights`]: aggregation weights by samples, equal, or given.
//! - [`mod@nearest`]: the known name that is closest to a misspelt one; [`mod@printable`]: foreign text, safe for a
//!   terminal.
//! - [`error`]: one enum for everything that can be wrong with a fleet, each with a hint.

#![warn(missing_docs)]

pub mod bandwidth;
pub mod cohort;
mod columns;
pub mod conditions;
pub mod costs;
pub mod csv_file;
mod csv_lines;
pub mod csv_table;
pub mod deadline;
pub mod error;
mod finish;
pub mod fleet;
pub mod link;
pub mod metrics;
pub mod model;
pub mod named;
pub mod names;
pub mod nearest;
pub mod printable;
pub mod profile;
pub mod profiles;
pub mod radio;
mod split;
pub mod stream;
pub mod transfers;
pub mod units;
pub mod weights;

pub use bandwidth::{Allocation, Share};
pub use cohort::CohortSampler;
pub use columns::{Columns, OwnedColumns};
pub use conditions::Conditions;
pub use costs::{Downlink, Download, RoundCosts};
pub use error::FleetError;
pub use fleet::{DEVICES_MAX, Device, Fleet, FleetBuilder};
pub use link::{Band, Link};
pub use metrics::{Direction, Display, MetricInfo, Metrics};
pub use model::ModelVector;
pub use names::type_of;
pub use nearest::{did_you_mean, nearest};
pub use printable::printable;
pub use stream::{Purpose, StreamKey};
pub use units::{Decibel, Gflop, GflopPerSec, Mbit, Mbps, Mhz, OutOfRange, Probability, Samples, Secs};
pub use weights::{GivenWeights, Weights};
