//! Everything that stops a run before its end.

use fedflip_engine::EngineError;
use fedflip_fleet::FleetError;
use fedflip_learn::LearnError;
use fedflip_learn::task::TaskError;
use fedflip_net::NetError;
use fedflip_plan::PlanError;
use fedflip_record::RecordError;
use fedflip_scenario::ScenarioError;

use crate::deployed::DeployError;
use crate::sweep::IdleAxis;

/// Why a run, a comparison or a sweep has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The task's data or network cannot be had.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The fleet cannot be used.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Training or evaluation failed.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A run folder cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The round loop cannot continue.
    #[error(transparent)]
    Engine(EngineError),
    /// The server of a deployed run cannot continue.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A scenario cannot be served as it is.
    #[error(transparent)]
    Deploy(#[from] DeployError),
    /// A file of an earlier run cannot be opened.
    #[error("{path}: cannot be opened: {source}")]
    Open {
        /// The name of the file.
        path: String,
        /// What the system reports.
        source: std::io::Error,
    },
    /// Other samples than those of the run that the scenario is stored with.
    #[error("the samples of {key} are not those of the run: their digests differ")]
    OtherData {
        /// The key that names the files.
        key: &'static str,
    },
    /// Other samples than those that a run in a folder was started with.
    #[error("{folder}: the {samples} samples, which {key} names, are not those of this run")]
    OtherSamples {
        /// The folder of the run.
        folder: String,
        /// The kind of samples: `training` or `test`.
        samples: &'static str,
        /// The key that names the files.
        key: &'static str,
    },
    /// A run that another clock would have changed.
    #[error("{folder}: this run cannot get another clock: {reason}")]
    CannotRetime {
        /// The folder of the run.
        folder: String,
        /// What the clock decides.
        reason: String,
    },
    /// Stopped by the session before the run itself began. It can be resumed.
    #[error("interrupted in a pilot, before the run began")]
    Interrupted,
    /// A comparison of runs that have no target.
    #[error("a comparison needs a target, and the scenario has none")]
    NoTarget,
    /// Pilots of a learner that does not evaluate what they run to.
    #[error("pilots run to a value of the metric loss, but the learner evaluates {known}")]
    NoPilotLoss {
        /// The metrics of the learner, in words.
        known: String,
    },
    /// A scenario that continues from pilots, in a comparison without pilots.
    #[error("pilot.keep continues from pilots, and the comparison runs none")]
    NoPilots,
    /// An axis of a sweep that makes no difference.
    #[error("an axis of the sweep: {0}")]
    IdleAxis(#[from] IdleAxis),
    /// An error at one point of a sweep.
    #[error("{point}: {error}")]
    AtPoint {
        /// The keys and values of the point, such as `fleet.bandwidth_mbps=100`.
        point: String,
        /// What is wrong there.
        error: Box<RunError>,
    },
}

impl From<EngineError> for RunError {
    /// The sink of a run keeps records, so its errors are theirs.
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Sink(error) => match error.downcast::<RecordError>() {
                Ok(error) => Self::Record(*error),
                Err(error) => Self::Engine(EngineError::Sink(error)),
            },
            error => Self::Engine(error),
        }
    }
}

impl RunError {
    /// What to change, where the error knows.
    pub fn hint(&self) -> String {
        match self {
            Self::Scenario(error) => error.hint(),
            Self::Task(error) => error.hint(),
            Self::Fleet(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            Self::Learn(error) => error.hint(),
            Self::Record(error) => error.hint().to_owned(),
            Self::Engine(error) => error.hint(),
            Self::Net(error) => error.hint(),
            Self::Deploy(error) => error.hint(),
            Self::Open { .. } => "restore the file, or run again in a new folder".to_owned(),
            Self::OtherData { .. } => {
                "restore the files, or leave data.train_digest and data.test_digest out to train on other samples"
                    .to_owned()
            }
            Self::OtherSamples { .. } => {
                "restore the files to resume the run, or train on these samples in another folder".to_owned()
            }
            Self::CannotRetime { .. } => "run the scenario again with the other clock".to_owned(),
            Self::Interrupted => "resume it".to_owned(),
            Self::NoTarget => "name a metric and its value in stop.metric and stop.at".to_owned(),
            Self::NoPilotLoss { .. } => {
                "let evaluate return a metric called loss, compare without pilots, or name schemes that need none, \
                 such as auto"
                    .to_owned()
            }
            Self::NoPilots => "leave out pilot.keep, or run pilots".to_owned(),
            Self::IdleAxis(error) => error.hint().to_owned(),
            Self::AtPoint { error, .. } => error.hint(),
        }
    }
}
