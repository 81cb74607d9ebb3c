//! Why a task cannot be had.

use fedflip_fleet::nearest;

use crate::error::LearnError;
use crate::partition::PartitionError;
use crate::task::Task;
use fedflip_datasets::DataError;

/// Why a task cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// Not one of ours.
    #[error("there is no task {name:?}")]
    Unknown {
        /// As given.
        name: String,
    },
    /// Roles are for texts.
    #[error("{task} has no roles to deal to devices")]
    NoRoles {
        /// Its name.
        task: &'static str,
    },
    /// The data are not there, or not right.
    #[error(transparent)]
    Data(#[from] DataError),
    /// They cannot be shared as asked.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// A setting out of range.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

impl TaskError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { name } => {
                let near = nearest(name, Task::NAMES);
                let meant = near.map_or(String::new(), |near| format!("did you mean {near}? "));
                format!("{meant}The tasks are {}", Task::NAMES.join(", "))
            }
            Self::NoRoles { .. } => "share by dirichlet or iid; only shakespeare-lstm has roles".to_owned(),
            Self::Data(error) => error.hint(),
            Self::Partition(error) => error.hint(),
            Self::Learn(error) => error.hint(),
        }
    }
}
