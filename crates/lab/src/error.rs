//! What can go wrong in a measurement.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The one error of this program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    /// The arguments cannot be used together or name something unknown.
    #[error("{0}")]
    Usage(String),
    /// A file that was named cannot be used; the text has its place.
    #[error("{0}")]
    Refused(String),
    #[error("cannot run `{command}`: {source}")]
    Start { command: String, source: io::Error },
    #[error("`{command}` ended with {ended}")]
    Command { command: String, ended: ExitStatus },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A file or a program's output cannot be read as what it should be.
    #[error("{0}")]
    Answer(String),
    /// A measurement breaks what it must keep.
    #[error("{0}")]
    Broken(String),
    /// This machine does not allow the measurement.
    #[error("SKIPPED: {0}")]
    Skipped(String),
}

impl LabError {
    /// 2 for bad input, 77 (the convention of test runners) for a measurement that was skipped, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Refused(_) => 2,
            Self::Skipped(_) => 77,
            _ => 1,
        }
    }
}
