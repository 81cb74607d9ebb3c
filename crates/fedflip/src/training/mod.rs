//! Running scenarios: what `run`, `pilot` and `compare` share.
//!
//! # Layout
//!
//! - [`setup`]: a scenario's data, learner and fleet, made once for many runs; plans for them.
//! - [`single`]: one run, in a folder or in memory.
//! - [`watch`]: whoever watches it: records, checkpoints, the bar, Ctrl-C, the clock on the wall.
//! - [`follow`]: those who follow runs beside that.
//! - [`dashboard`]: one of them: runs as they go, in a browser.
//! - [`eta`]: how long it may still take.
//! - [`pilots`]: lines 1–3 of Algorithm 2.
//! - [`comparison`]: every scheme with every seed.
//! - [`host`]: what belongs to the machine and not to the run.

pub(crate) mod comparison;
mod dashboard;
pub(crate) mod eta;
pub(crate) mod follow;
pub(crate) mod host;
pub(crate) mod pilots;
pub(crate) mod setup;
pub(crate) mod single;
pub(crate) mod watch;

use crate::args::TrainingArgs;

/// What flags say instead of the scenario, in the scenario's own words: they are checked as its values are.
pub(crate) fn overrides(args: &TrainingArgs, scheme: Option<&str>) -> Vec<String> {
    let mut overrides = args.set.clone();
    overrides.extend(args.seed.map(|seed| format!("seed={seed}")));
    overrides.extend(scheme.map(|scheme| format!("plan.scheme={scheme:?}")));
    overrides
}

/// The seed so many after another one, within what a scenario can say.
pub(crate) fn seed_after(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number) & (u64::MAX >> 1)
}

/// How many devices train at the same time.
pub(crate) fn threads(args: &TrainingArgs) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    args.threads.map_or_else(processors, usize::from)
}
