//! All that can be wrong with what a run leaves behind.

use std::path::Path;

/// Why a run's folder or its records cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The system said no.
    #[error("{path}: {action}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What was tried, such as `cannot be written`.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line that is no record.
    #[error("{path}, line {line}: {problem}")]
    BadLine {
        /// Which file.
        path: String,
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// Records of a version that this program does not read.
    #[error("{path}: records of version {found}, where this fedflip reads version {known}")]
    Version {
        /// Which file.
        path: String,
        /// As it says.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// There is a run already.
    #[error("{folder}: there is a run in it already")]
    Occupied {
        /// Which folder.
        folder: String,
    },
    /// Something else than an interruption has happened to it.
    #[error("{folder}: neither of its checkpoints fits its records: something has damaged it")]
    Damaged {
        /// Which folder.
        folder: String,
    },
    /// Its records alone are there, as in an archive.
    #[error("{folder}: there are rounds in its records, and no checkpoint to go on from")]
    NoCheckpoint {
        /// Which folder.
        folder: String,
    },
    /// Records of somebody else.
    #[error("{folder}: there are records in it, but no run.toml")]
    NotOurs {
        /// Which folder.
        folder: String,
    },
    /// The folder is of something else.
    #[error("{folder}: holds a run of another scenario: {difference}")]
    OtherScenario {
        /// Which folder.
        folder: String,
        /// The first one.
        difference: String,
    },
    /// Another process is at it.
    #[error("{folder}: another fedflip is writing to it")]
    Locked {
        /// Which folder.
        folder: String,
    },
    /// Not a run's folder.
    #[error("{folder}: holds no run")]
    NoRun {
        /// Which folder.
        folder: String,
    },
}

fn no_room(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

impl RecordError {
    /// For `map_err`, with the file and what was tried.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } if no_room(source.kind()) => {
                "make room on the disk, and go on with --resume: what was recorded is kept".to_owned()
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "name a folder that you may write to".to_owned()
            }
            Self::Io { .. } => "see that the folder is there and can be read and written".to_owned(),
            Self::BadLine { .. } => {
                "restore the file from a copy, or run again with another --out".to_owned()
            }
            Self::Version { .. } => "read it with the fedflip that wrote it".to_owned(),
            Self::Occupied { .. } => "go on with --resume, or name another --out".to_owned(),
            Self::Damaged { .. } => {
                "restore it from a copy, or run anew with another --out: nothing in it was changed".to_owned()
            }
            Self::NoCheckpoint { .. } => {
                "look at it with `fedflip report`, or run anew with another --out: nothing in it was changed"
                    .to_owned()
            }
            Self::NotOurs { .. } => "name another --out".to_owned(),
            Self::OtherScenario { .. } => {
                "name another --out, or the scenario it was started with".to_owned()
            }
            Self::Locked { .. } => "wait for it to end, or name another --out".to_owned(),
            Self::NoRun { .. } => {
                "name the folder of one run, such as comparison/runs/exact-seed1".to_owned()
            }
        }
    }
}
