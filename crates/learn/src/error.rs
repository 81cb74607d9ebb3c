//! All that can go wrong while learning.

/// Why a device has no update, or a model no score.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The model left the numbers.
    #[error("device {device} diverged: {what} is {value} after iteration {iteration}")]
    Diverged {
        /// Position in the fleet.
        device: usize,
        /// Counted from 1.
        iteration: usize,
        /// What is not a number, or infinite.
        what: &'static str,
        /// As it is.
        value: f64,
    },
    /// An evaluation that has no number.
    #[error("the {what} is {value}")]
    NotFinite {
        /// What is not a number, or infinite.
        what: &'static str,
        /// As it is.
        value: f64,
    },
    /// Parameters of another model.
    #[error("a model of {have} parameters was given where one of {want} belongs")]
    WrongLength {
        /// As given.
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
        /// As given.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// A file that is not such a model.
    #[error("{file}: {problem}")]
    ModelFile {
        /// Its name.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl LearnError {
    /// What to change.
    pub fn hint(&self) -> String {
        match self {
            Self::Diverged { .. } | Self::NotFinite { .. } => "lower the learning rate".to_owned(),
            Self::WrongLength { .. } => "use a model of the same task and width".to_owned(),
            Self::NoSamples { .. } => "give every device at least one sample".to_owned(),
            Self::BadSetting { wanted, .. } => format!("it must be {wanted}"),
            Self::ModelFile { .. } => "name a safetensors file that fedflip wrote for this task".to_owned(),
        }
    }
}
