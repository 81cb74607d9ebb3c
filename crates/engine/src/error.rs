//! The errors that stop a run before its end.

use std::error::Error;

use fedflip_learn::LearnError;

/// An error of a sink or of a world, which the engine passes on as it is.
pub type BoxedError = Box<dyn Error + Send + Sync>;

/// Why a run cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The sink could not keep what the run recorded. The error is the sink's own.
    #[error(transparent)]
    Sink(BoxedError),
    /// Training or evaluation failed, and the model has not diverged.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The plan is for another fleet.
    #[error("a plan for {planned} devices does not fit a fleet of {devices}")]
    OtherFleet {
        /// The devices of the plan.
        planned: usize,
        /// The devices of the fleet.
        devices: usize,
    },
    /// The state is that of another optimiser.
    #[error("the state remembers {remembered:?}, where the optimiser needs {needed:?}")]
    OtherOptimiser {
        /// The names of the vectors in the state.
        remembered: Vec<&'static str>,
        /// The names of the vectors that the optimiser needs.
        needed: Vec<&'static str>,
    },
    /// The updates of one round would take more memory than there may be for them.
    #[error("a trimmed sum holds up to {gib:.1} GiB of updates at a time, and {gib_max:.0} GiB are allowed")]
    TooLargeToTrim {
        /// The memory of the largest rounds that the plan leads to.
        gib: f64,
        /// The most that is allowed.
        gib_max: f64,
    },
    /// The run ends at a value of a metric that its learner does not have.
    #[error("the run stops at {metric}, but the learner evaluates {known}")]
    NoSuchMetric {
        /// The metric of the target.
        metric: String,
        /// The metrics of the learner, in words.
        known: String,
    },
    /// The world cannot continue with the round. The error is the world's own.
    #[error("the round cannot continue: {0}")]
    World(BoxedError),
}

impl EngineError {
    /// What to change, where the error knows.
    pub fn hint(&self) -> String {
        match self {
            Self::Sink(error) => error
                .downcast_ref::<fedflip_record::RecordError>()
                .map_or("check that the run's folder can be written", fedflip_record::RecordError::hint)
                .to_owned(),
            Self::Learn(error) => error.hint(),
            Self::OtherFleet { .. } => "plan for the fleet of the run".to_owned(),
            Self::OtherOptimiser { .. } => "begin the state with the optimiser of the run".to_owned(),
            Self::TooLargeToTrim { .. } => {
                "use round.aggregation = \"clipped\", which adds updates as they come, or plan smaller cohorts"
                    .to_owned()
            }
            Self::NoSuchMetric { .. } => "stop at a metric that evaluate returns".to_owned(),
            Self::World(_) => "resume the run".to_owned(),
        }
    }
}
