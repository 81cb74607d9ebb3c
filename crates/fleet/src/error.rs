//! What can be wrong with a fleet.

use crate::fleet::{DEVICES_MAX, NAME_BYTES_MAX};
use crate::units::plain;

/// Why a fleet was refused. The text names the place and the value, [`FleetError::hint`] a remedy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A fleet needs at least one device.
    #[error("the fleet has no devices")]
    NoDevices,
    /// More devices than a fleet holds.
    #[error("the fleet has more than {DEVICES_MAX} devices")]
    TooManyDevices,
    /// A text that is not a device name.
    #[error("device {position}: {} is not a device name", quoted(.name))]
    BadName {
        /// The text that was given as a name.
        name: String,
        /// The position of the device in the fleet.
        position: usize,
    },
    /// A name that two devices have.
    #[error("the device name {} occurs at positions {first} and {second}", quoted(.name))]
    RepeatedName {
        /// The name that occurs twice.
        name: String,
        /// The position of the first device.
        first: usize,
        /// The position of the second device.
        second: usize,
    },
    /// Sample counts for another number of devices.
    #[error("the fleet has {devices} devices, and there are {given} sample counts")]
    SampleCounts {
        /// The number of counts.
        given: usize,
        /// The number of devices.
        devices: usize,
    },
    /// A number in a column that is outside the range of its quantity.
    #[error("{column}, row {row}: {} is out of range", plain(*.value))]
    Column {
        /// The name of the column.
        column: &'static str,
        /// The position of the device, from 0.
        row: usize,
        /// The number that is out of range.
        value: f64,
        /// The range, in words.
        wanted: &'static str,
    },
    /// A column that is longer or shorter than the others.
    #[error("{column} has {len} entries, and samples has {samples}")]
    ColumnLength {
        /// The name of the column.
        column: &'static str,
        /// The number of its entries.
        len: usize,
        /// The length of the column `samples`.
        samples: usize,
    },
    /// A position that is not in the fleet.
    #[error("the position {position} is outside the fleet of {devices} devices")]
    BadPosition {
        /// The position of the device in the fleet.
        position: usize,
        /// The number of devices.
        devices: usize,
    },
    /// Positions of a cohort that do not ascend, so that one may occur twice.
    #[error("the position {position} follows {before}: the positions of a cohort must ascend, each once")]
    UnorderedPosition {
        /// The position of the device in the fleet.
        position: usize,
        /// The position before it.
        before: usize,
    },
    /// A signal-to-noise ratio that only a part of the devices has.
    #[error("device {position}: either all devices have a signal-to-noise ratio, or none has")]
    PartOfSignals {
        /// The position of the first device that differs.
        position: usize,
    },
    /// Settings from which no fleet can be made.
    #[error("{what}: {problem}")]
    Recipe {
        /// The name of the setting.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// A file that is not a fleet.
    #[error("{file}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    File {
        /// The name of the file.
        file: String,
        /// The line, if the problem is in one line.
        line: Option<u64>,
        /// The problem as the end of a sentence.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// A line of a fleet file.
    #[error("{file}, line {line}, column {column}: {} {problem}", quoted(.value))]
    Cell {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The name of the column.
        column: String,
        /// The text in the cell.
        value: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        hint: String,
    },
}

impl FleetError {
    pub(crate) fn file(file: &str, line: Option<u64>, problem: impl Into<String>, hint: &str) -> Self {
        Self::File { file: file.to_owned(), line, problem: problem.into(), hint: hint.to_owned() }
    }

    /// What the caller can change to avoid this error.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDevices => "add at least one device".to_owned(),
            Self::TooManyDevices => "split it into several fleets".to_owned(),
            Self::BadName { .. } => {
                format!("a name has 1 to {NAME_BYTES_MAX} bytes and no control characters")
            }
            Self::RepeatedName { .. } => "give every device a name of its own".to_owned(),
            Self::SampleCounts { .. } => "share the data over as many devices as the fleet has".to_owned(),
            Self::Column { wanted, .. } => format!("it must be {wanted}"),
            Self::ColumnLength { .. } => "give every column one entry per device".to_owned(),
            Self::BadPosition { devices, .. } => {
                format!("positions run from 0 to {}", devices.saturating_sub(1))
            }
            Self::PartOfSignals { .. } => {
                "give every device its ratio in dB over the whole spectrum".to_owned()
            }
            Self::UnorderedPosition { .. } => "sort the positions and remove repetitions".to_owned(),
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
