//! All that can be wrong with what a run leaves behind.

use std::io::ErrorKind;
use std::path::Path;

/// Why a run's folder or its records cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The system refused; `action` says what failed, such as `cannot be written`.
    #[error("{path}: {action}: {source}")]
    Io { path: String, action: &'static str, source: std::io::Error },
    /// A line, counted from 1, that is no record.
    #[error("{path}, line {line}: {problem}")]
    BadLine { path: String, line: u64, problem: String },
    /// Records of a version that this program does not read.
    #[error("{path}: the records have version {found}, and this fedflip reads version {known}")]
    Version { path: String, found: u32, known: u32 },
    /// A folder that cannot be used as asked.
    #[error("{folder}: {problem}")]
    Folder { folder: String, problem: FolderProblem },
}

/// Why a folder cannot be used as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderProblem {
    #[error("already holds a run")]
    Occupied,
    /// Something else than an interruption has happened to the folder.
    #[error("neither of its checkpoints matches its records: the folder is damaged")]
    Damaged,
    /// The folder holds records alone, as an archive does.
    #[error("its records have rounds, but it has no checkpoint to resume from")]
    NoCheckpoint,
    #[error("holds records, but no run.toml")]
    NotOurs,
    /// The first difference, in words.
    #[error("holds a run of another scenario: {0}")]
    OtherScenario(String),
    /// Other metrics than those that the records have.
    #[error("holds a run with other metrics: it records {recorded}, where this one has {now}")]
    OtherMetrics { recorded: String, now: String },
    /// A scheme of a program that promises something else than before.
    #[error("holds a run of another scheme: {scheme} {}", match unbiased {
        true => "promised an unbiased sum, and does not now",
        false => "did not promise an unbiased sum, and does now",
    })]
    OtherPromise { scheme: String, unbiased: bool },
    /// A cap that is lower than before.
    #[error("its run has come to round {rounds} and to {secs} virtual seconds, and a new cap is below that")]
    BeyondCaps { rounds: u64, secs: String },
    /// Files of somebody else.
    #[error("is neither empty nor a run folder (found {found:?})")]
    Others { found: String },
    #[error("another fedflip is writing to it")]
    Locked,
    #[error("holds no run")]
    NoRun,
}

impl RecordError {
    /// For `map_err`, with the file and the failed action.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    pub(crate) fn bad_line(path: &Path, line: u64, problem: impl Into<String>) -> Self {
        Self::BadLine { path: path.display().to_string(), line, problem: problem.into() }
    }

    pub fn folder(folder: &Path, problem: FolderProblem) -> Self {
        Self::Folder { folder: folder.display().to_string(), problem }
    }

    /// Whether there is no room on the disk: what was recorded so far is kept.
    pub fn is_no_room(&self) -> bool {
        use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. }
            if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }

    /// A remedy, without the flags and commands of any program.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } if self.is_no_room() => {
                "make room on the disk, and resume the run: what was recorded is kept"
            }
            Self::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                "name a folder that you may write to"
            }
            Self::Io { .. } => "check that the folder exists and can be read and written",
            Self::BadLine { .. } => "restore the file from a copy, or run again in another folder",
            Self::Version { .. } => "read it with the fedflip that wrote it",
            Self::Folder { problem, .. } => problem.hint(),
        }
    }
}

impl FolderProblem {
    fn hint(&self) -> &'static str {
        match self {
            Self::Occupied => "resume the run, or name another folder",
            Self::Damaged => {
                "restore it from a copy, or run anew in another folder: nothing in it was changed"
            }
            Self::NoCheckpoint => "report on it, or run anew in another folder: nothing in it was changed",
            Self::NotOurs => "name another folder",
            Self::OtherScenario(_) => "name another folder, or the scenario it was started with",
            Self::OtherMetrics { .. } => {
                "name another folder, or resume with the metrics that the run began with"
            }
            Self::OtherPromise { .. } => {
                "name another folder, or resume with the scheme that the run began with"
            }
            Self::BeyondCaps { .. } => {
                "raise the cap, or name another folder: nothing in this one was changed"
            }
            Self::Others { .. } => "name an empty or a new folder: nothing in this one was changed",
            Self::Locked => "wait for it to end, or name another folder",
            Self::NoRun => "name the folder of one run, such as comparison/runs/exact-seed1",
        }
    }
}
