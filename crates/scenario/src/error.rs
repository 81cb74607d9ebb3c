//! Why a scenario was refused: where, what, and what would be right.

use std::fmt;

use fedflip_fleet::units::plain;
use fedflip_fleet::{FleetError, OutOfRange};
use fedflip_learn::LearnError;
use fedflip_plan::PlanError;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file; without a line if it is the file as a whole.
    File { file: String, line: Option<usize> },
    /// Among the overrides of the file.
    Override,
    /// On an axis of a sweep.
    Axis,
}

impl Place {
    /// Whether a value there takes precedence over the file's.
    pub(crate) fn is_over_file(&self) -> bool {
        matches!(self, Self::Override | Self::Axis)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line: Some(line) } => write!(f, "{file}, line {line}"),
            Self::File { file, line: None } => f.write_str(file),
            Self::Override => f.write_str("an override"),
            Self::Axis => f.write_str("an axis of the sweep"),
        }
    }
}

/// Why there is no scenario, or not the fleet that it describes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A value that follows from others and cannot be used.
    #[error("{key}: {} is out of range", plain(*.value))]
    OutOfRange { key: &'static str, value: f64, wanted: String },
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Learn(#[from] LearnError),
}

impl ScenarioError {
    pub(crate) fn out_of_range(key: &'static str) -> impl FnOnce(OutOfRange) -> Self {
        move |error| Self::OutOfRange { key, value: error.value, wanted: error.wanted.to_owned() }
    }

    /// The advice that goes with the error.
    pub fn hint(&self) -> String {
        match self {
            Self::Key(error) => error.hint.clone(),
            Self::OutOfRange { wanted, .. } => format!("it must be {wanted}"),
            Self::Fleet(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            Self::Learn(error) => error.hint(),
        }
    }
}

/// A key or a file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct KeyError {
    pub place: Place,
    /// Such as `train.batch`; empty where no single key is wrong.
    pub key: String,
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
    pub(crate) fn at(self, place: Place, key: &str) -> KeyError {
        let problem = format!("{key}: {}", self.problem);
        KeyError { place, key: key.to_owned(), problem, hint: self.hint }
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
