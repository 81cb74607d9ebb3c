//! Why a task cannot be built.

use fedflip_fleet::nearest;

use crate::error::LearnError;
use crate::partition::PartitionError;
use crate::task::Task;
use fedflip_datasets::DataError;

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
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What a right value is, in words.
        wanted: String,
    },
    /// The samples cannot be shared in this way.
    #[error("the samples of {task} cannot be shared {sharing}")]
    NoSuchSharing {
        /// The task.
        task: &'static str,
        /// The way that was asked for.
        sharing: &'static str,
        /// The ways that the row declares.
        known: &'static [&'static str],
    },
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
    /// What to do.
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
            Self::External { .. } => "make the settings shorter, or the model smaller".to_owned(),
            Self::Data(error) => error.hint(),
            Self::Partition(error) => error.hint(),
            Self::Learn(error) => error.hint(),
        }
    }
}
