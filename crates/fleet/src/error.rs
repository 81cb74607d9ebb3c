//! All that can be wrong with a fleet.

use crate::fleet::{DEVICES_MAX, NAME_BYTES_MAX};

/// Why a fleet was refused. The text says what is wrong and where; [`FleetError::hint`] what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// No device in the list.
    #[error("the fleet has no devices")]
    NoDevices,
    /// More devices than a fleet holds.
    #[error("the fleet has more than {DEVICES_MAX} devices")]
    TooManyDevices,
    /// Something that is not a name.
    #[error("device {position}: {} is not a device name", quoted(.name))]
    BadName {
        /// As given.
        name: String,
        /// Where it would stand.
        position: usize,
    },
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
    /// Samples of another number of devices.
    #[error("the fleet has {devices} devices, and there are sample counts of {given}")]
    SampleCounts {
        /// How many counts there are.
        given: usize,
        /// How many there should be.
        devices: usize,
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
    #[error("{file}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    File {
        /// Its name.
        file: String,
        /// Where, if it is one line that shows it.
        line: Option<u64>,
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
            Self::TooManyDevices => "split it into several fleets".to_owned(),
            Self::BadName { .. } => {
                format!("a name has 1 to {NAME_BYTES_MAX} bytes and no control characters")
            }
            Self::RepeatedName { .. } => "give every device a name of its own".to_owned(),
            Self::SampleCounts { .. } => "share the data over as many devices as the fleet has".to_owned(),
            Self::Recipe { hint, .. } | Self::File { hint, .. } | Self::Cell { hint, .. } => hint.clone(),
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
