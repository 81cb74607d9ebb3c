//! A number for each named device, as a CSV file has them.

use std::io::Read;

use crate::csv_table::{Format, Table};
use crate::error::FleetError;
use crate::fleet::DEVICES_MAX;
use crate::names::Names;
use crate::units::OutOfRange;

/// The rows of a file whose first column is `device` and whose second one is a number.
#[derive(Debug, PartialEq)]
pub struct NamedNumbers {
    /// The name of the file in error messages.
    pub file: String,
    /// The devices, in the order of the rows.
    pub devices: Names,
    /// The number of each row.
    pub numbers: Vec<f64>,
    /// The line of each row in the file.
    pub lines: Vec<u64>,
    /// The rows in the order of their names.
    by_name: Vec<usize>,
}

impl NamedNumbers {
    /// Reads a file in which every device has one line and a number that `check` accepts.
    pub fn read(
        input: impl Read,
        file: &str,
        format: &'static Format,
        check: fn(f64) -> Result<f64, OutOfRange>,
    ) -> Result<Self, FleetError> {
        let mut table = Table::open(input, file, format)?;
        let (mut devices, mut numbers, mut lines) = (Names::default(), Vec::new(), Vec::new());
        while let Some(row) = table.next_row()? {
            if numbers.len() == DEVICES_MAX {
                return Err(FleetError::TooManyDevices);
            }
            devices.push(row.text(0)?);
            numbers.push(row.quantity(1, check)?);
            lines.push(row.line());
        }
        if numbers.is_empty() {
            return Err(table.without_devices());
        }
        if let Some((first, second)) = devices.first_duplicate() {
            let pair = [first, second].map(|row| lines[row]);
            return Err(table.repeated_device(devices.get(second), pair, "keep one line per device"));
        }
        let mut by_name: Vec<usize> = (0..numbers.len()).collect();
        by_name.sort_unstable_by(|&a, &b| devices.get(a).cmp(devices.get(b)));
        Ok(Self { file: file.to_owned(), devices, numbers, lines, by_name })
    }

    /// The row of a device, if the file names it.
    pub fn find(&self, device: &str) -> Option<usize> {
        let place = self.by_name.binary_search_by(|&row| self.devices.get(row).cmp(device));
        place.ok().map(|place| self.by_name[place])
    }

    /// The number of a device, if the file names it.
    pub fn number(&self, device: &str) -> Option<f64> {
        self.find(device).map(|row| self.numbers[row])
    }
}
