//! Presets: bundles of settings that expand to explicit keys when a scenario is read.
//!
//! A preset sets what the server does with the sum of the updates, how devices encode them, and how much sampling
//! variance a plan allows. It never chooses the scheme, and never sets what a round costs.

use fedflip_learn::task::{Setting, Task};

use crate::error::Refusal;
use crate::value::{Given, Value};

/// A bundle of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// The paper's: the plain unbiased sum, numbers as they are.
    Paper,
    /// The server optimiser, averaging, encoding and sampling variance that were best for the task (docs/results.md).
    #[default]
    Tuned,
}

const PAPER: &[Setting] = &[
    ("update.encoding", "\"f32\""),
    ("server.optimiser", "\"none\""),
    ("server.averaging", "0"),
    ("plan.variance", "1.4"),
    ("plan.quiet_variance", "\"none\""),
];

impl Preset {
    /// All presets by name.
    pub const ALL: [(&'static str, Self); 2] = [("paper", Self::Paper), ("tuned", Self::Tuned)];

    /// As written in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Tuned => "tuned",
        }
    }

    /// One line for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::Paper => "The plain unbiased sum, with updates in f32",
            Self::Tuned => {
                "The server optimiser, averaging, encoding and sampling variance that were best for the task"
            }
        }
    }

    /// Whether presets decide about a key.
    pub(crate) fn sets(section: &str, key: &str) -> bool {
        match section {
            "update" => true,
            "server" => key != "update_norm_max",
            "plan" => ["variance", "quiet_variance", "quiet_every"].contains(&key),
            _ => false,
        }
    }

    /// The preset that a value names.
    pub(crate) fn of(value: &Given<'_>) -> Result<Self, Refusal> {
        value.choice(&Self::ALL)
    }

    /// What it sets for a task, in the order in which it is set.
    pub(crate) fn keys(self, task: Task) -> impl Iterator<Item = (&'static str, Value)> {
        let tuned = if self == Self::Tuned { task.tuned() } else { &[] };
        PAPER.iter().chain(tuned).map(|(key, value)| (*key, crate::entries::of_text(value)))
    }
}
