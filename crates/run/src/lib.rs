//! Runs a scenario: simulated or on real devices, alone, in comparisons and in sweeps.
//!
//! A [`Scenario`](fedflip_scenario::Scenario) holds everything that decides a run. A [`Session`] holds what must not
//! change its result: threads, folders, and observers. Equal scenarios give equal records and equal models.
//!
//! # Run a scenario
//!
//! ```
//! use fedflip_record::{Round, folder, reader};
//! use fedflip_run::{Session, simulate};
//! use fedflip_scenario::Scenario;
//!
//! let scenario = Scenario::from_toml("[task]\nname = \"synthetic\"\n[stop]\nrounds_max = 5\n")?;
//! # let folder = tempfile::tempdir()?;
//! # let out = folder.path().join("run");
//! let mut session = Session::new("data").observed_by(|round: &Round| println!("{:?}", round.cohort));
//! let finished = simulate(&scenario, Some(&out), &mut session)?;
//! assert_eq!(finished.fold.summary.rounds, 5);
//!
//! let records = reader::read(&out.join(folder::RECORDS))?;
//! assert!(records.rounds[4].metrics.get("accuracy").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/run_a_scenario.rs` is the same as a program. [`Setup`] and [`Single`] are the steps of [`simulate()`], for
//! programs that run one data set many times.
//!
//! # Layout
//!
//! - [`session`]: the settings of the machine and of the user: threads, folders, the wish to stop, observers.
//! - [`setup`]: a scenario's data, learner and fleet, made once for many runs; plans for them; [`warnings`]: what a
//!   person should know before a run.
//! - [`trainer`]: the native kernels, or a learner of a program's own.
//! - `simulate`: a scenario from its data to the end of its run; [`single`]: one simulated run, in a folder or in memory; `worlds`: its engine and its world; [`keep`]: where its records and checkpoints go; `best`: its best
//!   model.
//! - [`replay`]: the rounds of a finished run on another clock, without training; [`mod@retime`]: in its folder; [`reuse`]: in
//!   a sweep, where one training serves several points.
//! - [`observe`]: whoever watches runs; [`tensorboard`]: event files.
//! - [`pilots`]: lines 1–3 of Algorithm 2.
//! - [`comparison`]: every scheme with every seed; [`study`]: pilots and comparison; [`verdict`]: the result as JSON; [`sweep`]: a
//!   comparison at every value of a key; [`shard`]: both in several parts; `spread`: whole runs on workers.
//! - [`folders`]: whether a folder is free for a comparison or a sweep.
//! - [`deployed`]: a scenario on real devices; `relay`: its rounds, for observers.
//! - [`host`]: `host.json`, which describes the machine and not the run.
//! - [`error`]: one enum for everything that stops a run.

#![warn(missing_docs)]

mod best;
pub mod comparison;
pub mod deployed;
pub mod error;
pub mod folders;
pub mod host;
pub mod keep;
pub mod observe;
pub mod pilots;
mod relay;
pub mod replay;
pub mod retime;
pub mod reuse;
pub mod session;
pub mod setup;
pub mod shard;
mod simulate;
pub mod single;
mod spread;
pub mod study;
pub mod sweep;
pub mod tensorboard;
pub mod trainer;
pub mod verdict;
pub mod warnings;
mod worlds;

pub use error::RunError;
pub use observe::{Observer, RunInfo};
pub use retime::{Retimed, retime};
pub use session::Session;
pub use setup::{Planned, Setup, header};
pub use simulate::{simulate, simulate_planned};
pub use single::{Finished, Single};
pub use trainer::{Crews, Trainer};

/// The seed `number` places after another one, within what a scenario can hold.
pub fn seed_after(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number) & (u64::MAX >> 1)
}

/// How many processors this machine has.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
