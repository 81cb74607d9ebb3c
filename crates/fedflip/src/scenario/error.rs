//! Why a scenario was refused: where, what, and what would be right.

use std::fmt;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a file; without a line if it is the file as a whole.
    File { file: String, line: Option<usize> },
    /// On the command line, after this flag.
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line: Some(line) } => write!(f, "{file}, line {line}"),
            Self::File { file, line: None } => f.write_str(file),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A scenario that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub(crate) struct ScenarioError {
    pub place: Place,
    pub problem: String,
    pub hint: String,
}

/// What is wrong with a value, before it is known where it stands: "0 is out of range".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub problem: String,
    pub hint: String,
}

impl Refusal {
    /// As an error of the key at `place`.
    pub(crate) fn at(self, place: Place, key: &str) -> ScenarioError {
        ScenarioError { place, problem: format!("{key}: {}", self.problem), hint: self.hint }
    }
}

/// A name as shown to people: in quotes, control characters escaped, no longer than a line.
pub(crate) fn short(name: &str) -> String {
    const SHOWN_CHARS: usize = 40;
    match name.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}
