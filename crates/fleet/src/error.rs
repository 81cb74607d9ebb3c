//! All that can be wrong with a fleet.

use crate::units::OutOfRange;

/// Why a fleet was refused. The text says what is wrong and where; [`FleetError::hint`] what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// No device in the list.
    #[error("the fleet has no devices")]
    NoDevices,
    /// A name stands twice.
    #[error("the device name {} stands at positions {first} and {second}", quoted(.name))]
    RepeatedName {
        /// The name.
        name: String,
        /// Where it stood first.
        first: usize,
        /// Where it stands again.
        second: usize,
    },
    /// A fleet cannot be made as asked.
    #[error("{what}: {problem}")]
    Recipe {
        /// The setting.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// A file that is not a fleet.
    #[error("{file}: {problem}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong with it as a whole.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// A line of a fleet file.
    #[error("{file}, line {line}, column {column}: {} {problem}", quoted(.value))]
    Cell {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands there.
        value: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
}

impl FleetError {
    /// What to change.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDevices => "add at least one device".to_owned(),
            Self::RepeatedName { .. } => "give every device a name of its own".to_owned(),
            Self::Recipe { hint, .. } | Self::File { hint, .. } | Self::Cell { hint, .. } => hint.clone(),
        }
    }

    /// A setting whose number is out of range.
    pub(crate) fn recipe(what: &'static str, out_of_range: &OutOfRange) -> Self {
        Self::Recipe {
            what,
            problem: format!("{} is out of range", out_of_range.value),
            hint: format!("it must be {}", out_of_range.wanted),
        }
    }
}

/// A value as shown to people: in quotes, control characters escaped, no longer than a line.
fn quoted(value: &str) -> String {
    const SHOWN_CHARS: usize = 40;
    let mut shown: String = value.chars().take(SHOWN_CHARS).collect();
    if value.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    format!("{shown:?}")
}
