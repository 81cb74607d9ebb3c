//! Fleets as CSV: `device,compute_secs,comm_secs,samples` and, optionally, `availability`.
//!
//! Columns may stand in any order; CRLF, a byte-order mark and quoted names are accepted. Nothing is
//! guessed: a missing time is refused, never read as zero.

use std::io::{BufRead, BufWriter, Read, Write};

pub use crate::csv_lines::{write_text, write_text_for_spreadsheets};
use crate::csv_table::{Column, Format, Row, Table};
use crate::error::FleetError;
use crate::fleet::{Device, Fleet};
use crate::units::{Probability, Samples, Secs};

const MEASURE: &str = "write the measured value; a missing one is never taken for 0";

/// The columns, in the order in which they are written.
static FORMAT: Format = Format {
    what: "fleet",
    header: "device,compute_secs,comm_secs,samples[,availability]",
    columns: &[
        Column::required("device", ""),
        Column::required("compute_secs", MEASURE),
        Column::required("comm_secs", MEASURE),
        Column::required("samples", MEASURE),
        Column::optional("availability", "write 1 for a device that is always reachable"),
    ],
};
const AVAILABILITY: usize = 4;

/// Reads a fleet; errors name it as `file`.
pub fn read(input: impl Read, file: &str) -> Result<Fleet, FleetError> {
    let mut table = Table::open(input, file, &FORMAT)?;
    let mut builder = Fleet::builder();
    let mut line_of: Vec<u64> = Vec::new();
    while let Some(row) = table.next_row()? {
        builder.push(device(&row)?).map_err(|error| row.refuse(0, "is not a device name", error.hint()))?;
        line_of.push(row.line());
    }
    builder.build().map_err(|error| match error {
        FleetError::NoDevices => table.without_devices(),
        FleetError::RepeatedName { name, first, second } => table.repeated_device(
            &name,
            [line_of[first], line_of[second]],
            "give every device a name of its own",
        ),
        other => other,
    })
}

fn device<'a>(row: &Row<'a, impl BufRead>) -> Result<Device<'a>, FleetError> {
    Ok(Device {
        name: row.text(0)?,
        compute_secs: row.quantity(1, Secs::new)?,
        comm_secs: row.quantity(2, Secs::new)?,
        samples: row.quantity(3, Samples::new)?,
        availability: match row.has(AVAILABILITY) {
            true => row.quantity(AVAILABILITY, Probability::new)?,
            false => Probability::ONE,
        },
    })
}

/// Writes a fleet; the availability column only if some device has one below 1.
pub fn write(fleet: &Fleet, output: impl Write) -> std::io::Result<()> {
    let capped = fleet.availability().iter().any(|&availability| availability < 1.0);
    let columns = if capped { FORMAT.columns } else { &FORMAT.columns[..AVAILABILITY] };
    let mut output = BufWriter::new(output);
    writeln!(output, "{}", columns.iter().map(|column| column.name).collect::<Vec<_>>().join(","))?;
    for n in 0..fleet.len() {
        write_text(&mut output, fleet.name(n))?;
        write!(output, ",{},{},{}", fleet.compute_secs()[n], fleet.comm_secs()[n], fleet.samples()[n])?;
        if capped {
            write!(output, ",{}", fleet.availability()[n])?;
        }
        writeln!(output)?;
    }
    output.flush()
}
