//! What can go wrong in a task. Each message says what was tried and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The one error of this program.
#[derive(Debug)]
pub(crate) enum TaskError {
    /// The words after `cargo xtask` make no sense.
    Usage(String),
    /// A program could not be started, or was lost while running.
    Start { command: String, source: io::Error },
    /// A program ran and said no.
    Command { command: String, ended: ExitStatus },
    /// A file or folder could not be read or written.
    File { path: PathBuf, source: io::Error },
    /// The repository breaks its own rules; they were printed already.
    Untidy { count: usize },
    /// Something the task needs is not there, with the way to get it.
    Missing { what: String, hint: String },
    /// A program's answer was not what the task can use.
    Answer(String),
    /// A decoder broke on some bytes, which are kept.
    Crash { target: String, what: String, replay: String },
    /// A task of the lab failed, and has printed why.
    Lab { code: u8 },
    /// A step of `cargo xtask test` failed.
    Step { name: &'static str, secs: f64, source: Box<TaskError> },
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Answer(message) => f.write_str(message),
            Self::Crash { target, what, replay } => {
                write!(
                    f,
                    "{target}: {what}\nSee it again with: {replay}\n\
                       Once it is mended, keep that input in fuzz/regressions/{target}"
                )
            }
            Self::Start { command, source } => write!(f, "cannot run `{command}`: {source}"),
            Self::Command { command, ended } => write!(f, "`{command}` ended with {ended}"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Untidy { count: 1 } => f.write_str("1 rule of the repository is broken, above"),
            Self::Untidy { count } => {
                write!(f, "the repository's rules are broken in {count} places, above")
            }
            Self::Lab { code } => write!(f, "the lab ended with exit code {code}, see above"),
            Self::Missing { what, hint } => write!(f, "{what} is missing: {hint}"),
            Self::Step { name, secs, source } => write!(
                f,
                "step `{name}` failed after {secs:.1} s: {source}\n\
                 Run it alone again with: cargo xtask test {name}"
            ),
        }
    }
}

impl std::error::Error for TaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { source, .. } | Self::File { source, .. } => Some(source),
            Self::Step { source, .. } => Some(source),
            _ => None,
        }
    }
}
