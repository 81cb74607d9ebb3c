//! Why a task cannot be built.

use std::path::PathBuf;

use fedflip_fleet::nearest;

use crate::error::LearnError;
use crate::partition::PartitionError;
use crate::task::Task;
use fedflip_datasets::DataError;
use fedflip_samples::{OtherColumns, SamplesError};

/// Why a task cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// No row of the table has this name.
    #[error("there is no task {name:?}")]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The task's row does not declare this parameter.
    #[error("there is no parameter {name:?}")]
    UnknownParam {
        /// The name that was given.
        name: String,
        /// The names that the row declares.
        known: Vec<&'static str>,
    },
    /// A parameter's value is of another kind or out of range.
    #[error("{name} is {value}")]
    BadParam {
        /// The name of the parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What a right value is, in words.
        wanted: String,
    },
    /// The samples cannot be shared in this way.
    #[error("the samples of {task} cannot be shared {sharing}")]
    NoSuchSharing {
        /// The name of the task.
        task: &'static str,
        /// The way that was asked for.
        sharing: &'static str,
        /// The ways that the row declares.
        known: &'static [&'static str],
    },
    /// The task trains on files of the user's own, and none are named.
    #[error("no files of training samples are named")]
    NoFiles,
    /// Samples of the user's own differ from what the task declares.
    #[error("{}: {what} is {found}; the task declares {declared}", .file.display())]
    NotAsDeclared {
        /// The first of the files.
        file: PathBuf,
        /// The property in which they differ.
        what: &'static str,
        /// As in the file.
        found: String,
        /// As the task's parameters say.
        declared: String,
    },
    /// A table of the user's own has other columns than the task declares.
    #[error("{}: the table {}", .file.display(), .columns.beside("the task does not declare", "the task declares"))]
    Columns {
        /// The first of the files.
        file: PathBuf,
        /// What it has and lacks.
        columns: OtherColumns,
    },
    /// There is nothing to evaluate models on.
    #[error("there are no samples to evaluate models on")]
    NothingToEvaluate,
    /// No window of a text has a character behind it.
    #[error("{}: the texts are no longer than a window of {window} characters", .file.display())]
    TextTooShort {
        /// The first of the files.
        file: PathBuf,
        /// The number of characters from which the next one is predicted.
        window: usize,
    },
    /// A list of characters that is no alphabet.
    #[error("the alphabet has {characters} characters, of which some repeat or are too many")]
    Alphabet {
        /// The length of the list.
        characters: usize,
    },
    /// More samples than positions.
    #[error("{samples} samples are more than can be numbered")]
    TooManySamples {
        /// The number of samples.
        samples: usize,
    },
    /// A file of samples cannot be read.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// An external task that cannot be offered to devices.
    #[error("the external task cannot be offered: {problem}")]
    External {
        /// What is wrong with it.
        problem: String,
    },
    /// The data set is missing or damaged.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The samples do not suffice for the devices.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A setting is out of range.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

impl TaskError {
    /// The advice that goes with the error.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { name } => {
                let near = nearest(name, Task::names());
                let meant = near.map_or(String::new(), |near| format!("did you mean {near}? "));
                format!("{meant}The tasks are {}", Task::names().collect::<Vec<_>>().join(", "))
            }
            Self::UnknownParam { known, .. } if known.is_empty() => "this task has no parameters".to_owned(),
            Self::UnknownParam { known, .. } => format!("the parameters are {}", known.join(", ")),
            Self::BadParam { wanted, .. } => format!("it must be {wanted}"),
            Self::NoSuchSharing { known, .. } => format!("share by {}", known.join(" or ")),
            Self::NoFiles => {
                "name them: a scenario has data.train and data.test, a device its own; a scenario \
                              whose samples are on devices is served, not simulated"
                    .to_owned()
            }
            Self::NotAsDeclared { .. } => {
                "correct the keys of [task] in the scenario, or take samples that fit".to_owned()
            }
            Self::Columns { .. } => {
                "correct task.columns in the scenario, or take a table with these columns".to_owned()
            }
            Self::NothingToEvaluate => {
                "name test files (data.test), or hold a share of the training samples out (data.validation)"
                    .to_owned()
            }
            Self::TextTooShort { .. } => "take longer texts, or a shorter window (task.shape)".to_owned(),
            Self::Alphabet { .. } => {
                "list each character of task.alphabet once, and at most 255 of them".to_owned()
            }
            Self::TooManySamples { .. } => "take at most 2,147,483,647 samples".to_owned(),
            Self::Samples(error) => error.hint(),
            Self::External { .. } => "make the settings shorter, or the model smaller".to_owned(),
            Self::Data(error) => error.hint(),
            Self::Partition(error) => error.hint(),
            Self::Learn(error) => error.hint(),
        }
    }
}
