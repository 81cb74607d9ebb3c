//! All that can stop a run before its end.

use fedflip_learn::LearnError;
use fedflip_record::RecordError;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// What was learnt cannot be kept.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Training or evaluation failed, and not for want of numbers.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The plan is for another fleet.
    #[error("a plan for {planned} devices does not fit a fleet of {devices}")]
    OtherFleet {
        /// In the plan.
        planned: usize,
        /// In the fleet.
        devices: usize,
    },
    /// The state is that of another optimiser.
    #[error("the state remembers {remembered:?}, where the optimiser needs {needed:?}")]
    OtherOptimiser {
        /// In the state.
        remembered: Vec<&'static str>,
        /// By the optimiser.
        needed: Vec<&'static str>,
    },
    /// The updates of one round would take more memory than there may be for them.
    #[error("a trimmed sum holds up to {gib:.1} GiB of updates at a time, and {gib_max:.0} GiB are allowed")]
    TooLargeToTrim {
        /// Of the largest rounds that the plan leads to.
        gib: f64,
        /// The most that is allowed.
        gib_max: f64,
    },
    /// The world is gone.
    #[error("the world of the run has ended: {problem}")]
    World {
        /// What happened.
        problem: String,
    },
}

impl EngineError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Record(error) => error.hint(),
            Self::Learn(error) => error.hint(),
            Self::OtherFleet { .. } => "plan for the fleet of the run".to_owned(),
            Self::OtherOptimiser { .. } => "begin the state with the optimiser of the run".to_owned(),
            Self::TooLargeToTrim { .. } => {
                "use round.aggregation = \"clipped\", which adds updates as they come, or plan smaller cohorts"
                    .to_owned()
            }
            Self::World { .. } => "go on with --resume".to_owned(),
        }
    }
}
