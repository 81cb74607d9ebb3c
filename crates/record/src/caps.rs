//! The caps of a run that resumes, beside what it has done.

use crate::changed::key_changes;

/// The caps of a run. What is done may not be beyond them: the run would not repeat from its `run.toml`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caps {
    pub rounds_max: u64,
    pub secs_max: f64,
}

impl Caps {
    /// Caps that no run reaches.
    pub const NONE: Self = Self { rounds_max: u64::MAX, secs_max: f64::INFINITY };

    /// Those that are others than in a run's `run.toml`: what is done was allowed by the caps that it has.
    pub(crate) fn new_since(self, before: &str, now: &str) -> Self {
        let changes = key_changes(before, now);
        let is_new = |key: &str| changes.iter().any(|change| change.key == key);
        Self {
            rounds_max: if is_new("stop.rounds_max") { self.rounds_max } else { u64::MAX },
            secs_max: if is_new("stop.virtual_hours_max") { self.secs_max } else { f64::INFINITY },
        }
    }

    pub(crate) fn allow(&self, rounds: u64, secs: f64) -> bool {
        rounds <= self.rounds_max && secs <= self.secs_max
    }
}
