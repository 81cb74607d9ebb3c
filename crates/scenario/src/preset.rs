//! Presets: bundles of settings that expand to explicit keys when a scenario is read.
//!
//! A preset sets what the server does with the sum of the updates, how devices encode them, and how much sampling
//! variance a plan allows. It never chooses the scheme, and never sets what a round costs.

use fedflip_learn::models::mobilenet::Norm;
use fedflip_learn::task::Task;

use crate::error::Refusal;
use crate::value::{Given, Value};

/// A bundle of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// The paper's: the plain unbiased sum, numbers as they are.
    Paper,
    /// The server optimiser, averaging, encoding and variance that were best for the task (docs/RESULTS.md).
    #[default]
    Tuned,
}

/// Keys with their values, as TOML.
type Keys = &'static [(&'static str, &'static str)];

const PAPER: Keys = &[
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

    /// The preset that a value names.
    pub(crate) fn of(value: &Given<'_>) -> Result<Self, Refusal> {
        value.choice(&Self::ALL)
    }

    /// What it sets for a task, in the order in which it is set.
    pub(crate) fn keys(self, task: Task) -> impl Iterator<Item = (&'static str, Value)> {
        let tuned = if self == Self::Tuned { tuned(task) } else { &[] };
        PAPER.iter().chain(tuned).map(|(key, value)| (*key, crate::entries::of_text(value)))
    }
}

/// Where training takes many rounds an optimiser bears a larger step with an eighth of the usual variance: seven devices
/// per round instead of one, in rounds that are three times as long. Adam loses on the convex task. Running variances of
/// batch normalisation bear neither an optimiser nor rounding: there quiet rounds remove the variance before an
/// evaluation.
fn tuned(task: Task) -> Keys {
    match task {
        Task::Synthetic { .. } => &[("server.averaging", "0.9"), ("update.encoding", "\"int8\"")],
        Task::MnistCnn { .. } | Task::FashionCnn { .. } => &[
            ("server.optimiser", "\"adam\""),
            ("server.momentum", "0.8"),
            ("server.averaging", "0.9"),
            ("update.encoding", "\"int4\""),
        ],
        Task::Cifar10Mobilenet { norm: Norm::Group, .. } => &[
            ("server.optimiser", "\"adam\""),
            ("server.momentum", "0.8"),
            ("server.averaging", "0.97"),
            ("update.encoding", "\"int4\""),
            ("plan.variance", "0.175"),
        ],
        Task::Cifar10Mobilenet { norm: Norm::Batch, .. } => {
            &[("plan.variance", "0.5"), ("plan.quiet_variance", "0.1")]
        }
        Task::ShakespeareLstm => &[
            ("server.optimiser", "\"adam\""),
            ("server.step", "0.02"),
            ("server.momentum", "0.8"),
            ("server.averaging", "0.9"),
            ("update.encoding", "\"int4\""),
            ("plan.variance", "0.175"),
        ],
    }
}
