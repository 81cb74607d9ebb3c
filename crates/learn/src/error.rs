//! The errors of training and evaluation.

use std::borrow::Cow;

/// Why a device has no update, or a model no evaluation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The parameters or the loss became NaN or infinite.
    #[error("device {device} diverged: {what} is {value} after iteration {iteration}")]
    Diverged {
        /// Position in the fleet.
        device: usize,
        /// The iteration of local training, counted from 1.
        iteration: usize,
        /// The quantity that is NaN or infinite.
        what: &'static str,
        /// The value that is not finite.
        value: f64,
    },
    /// An evaluation gave NaN or infinity.
    #[error("the {what} is {value}")]
    NotFinite {
        /// The quantity that is NaN or infinite.
        what: Cow<'static, str>,
        /// The value that is not finite.
        value: f64,
    },
    /// Parameters of another model.
    #[error("the model has {have} parameters, and the task needs {want}")]
    WrongLength {
        /// The number of parameters that were given.
        have: usize,
        /// What the network has.
        want: usize,
    },
    /// A device without data, or one that does not exist.
    #[error("device {device} holds no samples")]
    NoSamples {
        /// Position in the fleet.
        device: usize,
    },
    /// A setting out of range.
    #[error("{name}: {value} is out of range")]
    BadSetting {
        /// What it is called.
        name: &'static str,
        /// The value as it was given.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// A worker panicked, or was lost in another way, before it finished.
    #[error("{problem}")]
    WorkerLost {
        /// What is known about it.
        problem: String,
    },
    /// Code that is not part of fedflip failed, such as a model of the user.
    #[error("{message}")]
    Foreign {
        /// The message of the other code.
        message: String,
        /// Where the failure comes from, such as a traceback; may be empty.
        trace: String,
    },
    /// The task is external: programs on devices train it.
    #[error("the task external has no network here: only programs on devices can train it")]
    NoNetwork,
    /// A scheme chooses devices by the loss of the model on their own samples, and the learner or the crew has none.
    #[error("the learner cannot compute the loss of a model on a device's own samples")]
    NoOwnLoss,
    /// A file that is not such a model.
    #[error("{file}: {problem}")]
    ModelFile {
        /// The name of the file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl LearnError {
    /// The advice that goes with the error.
    pub fn hint(&self) -> String {
        match self {
            Self::Diverged { .. } | Self::NotFinite { .. } => "lower the learning rate".to_owned(),
            Self::WrongLength { .. } => "use a model of the same task and width".to_owned(),
            Self::WorkerLost { .. } => {
                "resume the run; if the worker fails again, its log says why".to_owned()
            }
            Self::Foreign { .. } => "correct the code that failed, then resume the run".to_owned(),
            Self::NoSamples { .. } => "give every device at least one sample".to_owned(),
            Self::BadSetting { wanted, .. } => format!("it must be {wanted}"),
            Self::NoNetwork => {
                "serve it to devices whose programs train it; a Rust program with a Learner of its own simulates it"
                    .to_owned()
            }
            Self::NoOwnLoss => {
                "implement Learner::loss, or use a scheme that does not ask for losses, such as auto".to_owned()
            }
            Self::ModelFile { .. } => "name a safetensors file that fedflip wrote for this task".to_owned(),
        }
    }
}
