//! Why a fleet is refused, with the place and the value for programs.

use fedflip_fleet::FleetError;
use pyo3::prelude::*;

use crate::error::Failure;

/// What to do about a value that is missing.
const MEASURE: &str = "give the measured value; a missing one is never taken for 0";

/// An error of a fleet as an `InputError` with place, value and remedy.
pub(crate) fn refused(py: Python<'_>, error: &FleetError) -> Failure {
    let failure = Failure::input(error, error.hint());
    match error {
        FleetError::Column { column, row, value, .. } if value.is_nan() => {
            let place = format!("{column}, row {row}");
            Failure::input(format!("{place}: the value is missing (NaN)"), MEASURE).at(place).of(py, *value)
        }
        FleetError::Column { column, row, value, .. } => {
            failure.at(format!("{column}, row {row}")).of(py, *value)
        }
        FleetError::ColumnLength { column, len, .. } => {
            failure.at(if *column == "names" { "device" } else { column }).of(py, *len)
        }
        FleetError::BadName { name, position } => failure.at(format!("device, row {position}")).of(py, name),
        FleetError::RepeatedName { name, second, .. } => {
            failure.at(format!("device, row {second}")).of(py, name)
        }
        FleetError::PartOfSignals { position } => failure.at(format!("snr_db, row {position}")),
        FleetError::Recipe { what, .. } => failure.at(what),
        FleetError::File { file, line: Some(line), .. } => failure.at(format!("{file}, line {line}")),
        FleetError::File { file, line: None, .. } => failure.at(file).of(py, file),
        FleetError::Cell { file, line, column, value, .. } => {
            failure.at(format!("{file}, line {line}, column {column}")).of(py, value)
        }
        _ => failure,
    }
}
