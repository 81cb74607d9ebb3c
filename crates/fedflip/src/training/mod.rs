//! Running scenarios: what `run`, `pilot`, `compare` and `sweep` share.
//!
//! # Layout
//!
//! - [`setup`]: a scenario's data, learner and fleet, made once for many runs; plans for them.
//! - [`single`]: one run, in a folder or in memory.
//! - [`watch`]: whoever watches it: records, checkpoints, the bar, Ctrl-C, the clock on the wall.
//! - [`follow`]: those who follow runs beside that; [`tensorboard`]: its event files; [`dashboard`]: a page.
//! - [`eta`]: how long it may still take.
//! - [`outline`]: a run in a few numbers and a curve.
//! - [`pilots`]: lines 1–3 of Algorithm 2.
//! - [`comparison`]: every scheme with every seed.
//! - [`study`]: both of these, the whole of a comparison; [`verdict`]: what came of it, as JSON.
//! - [`deployed`]: a scenario on real devices: what `serve` does.
//! - [`host`]: what belongs to the machine and not to the run.

pub(crate) mod comparison;
mod dashboard;
pub(crate) mod deployed;
pub(crate) mod eta;
pub(crate) mod follow;
pub(crate) mod host;
pub(crate) mod outline;
pub(crate) mod pilots;
pub(crate) mod setup;
pub(crate) mod single;
pub(crate) mod study;
pub(crate) mod tensorboard;
pub(crate) mod verdict;
pub(crate) mod watch;

use fedflip_plan::Scheme;

use crate::args::TrainingArgs;
use crate::progress::warn;
use crate::scenario::Scenario;

/// What flags say instead of the scenario, in the scenario's own words: they are checked as its values are.
pub(crate) fn overrides(set: &[String], seed: Option<u64>, scheme: Option<&str>) -> Vec<String> {
    let mut overrides = set.to_vec();
    overrides.extend(seed.map(|seed| format!("seed={seed}")));
    overrides.extend(scheme.map(|scheme| format!("plan.scheme={scheme:?}")));
    overrides
}

/// Tells of what is asked for by hand of noise and quiet rounds, and none of the runs has. In a file, which many schemes
/// share, it is no mistake.
pub(crate) fn warn_of_idle_keys<'a>(set: &[String], runs: impl IntoIterator<Item = &'a Scenario>) {
    let plans: Vec<_> = runs.into_iter().map(|run| &run.plan).collect();
    if !plans.iter().any(|plan| plan.scheme == Scheme::Auto) {
        warn_of_idle_key(set, "plan.noise", "auto alone has it");
    }
    if !plans.iter().any(|plan| plan.quiet_noise.is_some()) {
        warn_of_idle_key(set, "plan.quiet_every", "there are no quiet rounds");
    }
}

/// The same of pilots, which have one plan for all rounds.
pub(crate) fn warn_of_keys_idle_in_pilots(set: &[String]) {
    warn_of_idle_key(set, "plan.noise", "auto alone has it");
    for key in ["plan.quiet_noise", "plan.quiet_every"] {
        warn_of_idle_key(set, key, "pilots have no quiet rounds");
    }
}

fn warn_of_idle_key(set: &[String], key: &str, why: &str) {
    if set.iter().any(|set| set.split('=').next().is_some_and(|name| name.trim() == key)) {
        warn(&format!("--set {key} makes no difference here, because {why}: leave it out"));
    }
}

/// The seed so many after another one, within what a scenario can say.
pub(crate) fn seed_after(seed: u64, number: u64) -> u64 {
    seed.wrapping_add(number) & (u64::MAX >> 1)
}

/// How many devices train at the same time.
pub(crate) fn threads(args: &TrainingArgs) -> usize {
    args.threads.map_or_else(processors, usize::from)
}

/// How many there are.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
