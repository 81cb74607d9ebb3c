//! Runs a scenario: simulated or on real devices, alone, in comparisons and in sweeps.
//!
//! # Layout
//!
//! - [`session`]: what the machine and the user bring to a run: threads, folders, the wish to stop, observers.
//! - [`setup`]: a scenario's data, learner and fleet, made once for many runs; plans for them; [`warnings`]: what a
//!   person should know before a run.
//! - [`single`]: one simulated run, in a folder or in memory; [`keep`]: where its records and checkpoints go.
//! - [`observe`]: whoever watches runs; [`tensorboard`]: event files.
//! - [`pilots`]: lines 1–3 of Algorithm 2.
//! - [`comparison`]: every scheme with every seed; [`study`]: pilots and comparison; [`verdict`]: the result as JSON.
//! - [`deployed`]: a scenario on real devices.
//! - [`host`]: `host.json`, which describes the machine and not the run.
//! - [`error`]: one enum for everything that stops a run.

#![warn(missing_docs)]

pub mod comparison;
pub mod deployed;
pub mod error;
pub mod host;
pub mod keep;
pub mod observe;
pub mod pilots;
pub mod session;
pub mod setup;
pub mod single;
pub mod study;
pub mod tensorboard;
pub mod verdict;
pub mod warnings;

pub use error::RunError;
pub use observe::{Observer, RunInfo};
pub use session::Session;
pub use setup::{Planned, Setup};
pub use single::{Finished, Single, simulate};

/// The seed `number` places after another one, within what a scenario can hold.
pub fn seed_after(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number) & (u64::MAX >> 1)
}

/// How many processors this machine has.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
