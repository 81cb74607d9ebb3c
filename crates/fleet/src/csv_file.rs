//! Fleets as CSV: `device,compute_secs,comm_secs,samples` and, optionally, `availability`, `link_mbps` and `snr_db`.
//!
//! Columns may stand in any order; CRLF, a byte-order mark and quoted names are accepted. Nothing is
//! guessed: a missing time is refused, never read as zero.

use std::io::{BufRead, BufWriter, Read, Write};

pub use crate::csv_lines::{write_text, write_text_for_spreadsheets};
use crate::csv_table::{Column, Format, Row, Table};
use crate::error::FleetError;
use crate::fleet::{Device, Fleet};
use crate::units::{Decibel, Mbps, OutOfRange, Probability, Samples, Secs};

const MEASURE: &str = "write the measured value; a missing one is never taken for 0";

/// The columns, in the order in which they are written.
static FORMAT: Format = Format {
    what: "fleet",
    header: "device,compute_secs,comm_secs,samples[,availability][,link_mbps][,snr_db]",
    columns: &[
        Column::required("device", ""),
        Column::required("compute_secs", MEASURE),
        Column::required("comm_secs", MEASURE),
        Column::required("samples", MEASURE),
        Column::optional("availability", "write 1 for a device that is always reachable"),
        Column::optional("link_mbps", "write 1e9 for a device without a limit of its own"),
        Column::optional("snr_db", "write the ratio over the whole spectrum for every device, or for none"),
    ],
};
const AVAILABILITY: usize = 4;
const LINK_MBPS: usize = 5;
const SNR_DB: usize = 6;
/// The largest rate that can be written. It stands for a link without a limit, for which a file has no other number.
const UNLIMITED_MBPS: f64 = 1e9;

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
        availability: optional(row, AVAILABILITY, Probability::new)?.unwrap_or(Probability::ONE),
        link_mbps: optional(row, LINK_MBPS, Mbps::new)?.filter(|link| link.get() < UNLIMITED_MBPS),
        snr_db: optional(row, SNR_DB, Decibel::new)?,
    })
}

fn optional<Q>(
    row: &Row<'_, impl BufRead>,
    column: usize,
    check: fn(f64) -> Result<Q, OutOfRange>,
) -> Result<Option<Q>, FleetError> {
    row.has(column).then(|| row.quantity(column, check)).transpose()
}

/// Writes a fleet. An optional column is written only if some device needs it.
pub fn write(fleet: &Fleet, output: impl Write) -> std::io::Result<()> {
    let capped = fleet.availability().iter().any(|&availability| availability < 1.0);
    let optional = [
        (AVAILABILITY, Some(fleet.availability()).filter(|_| capped)),
        (LINK_MBPS, fleet.link_mbps()),
        (SNR_DB, fleet.snr_db()),
    ];
    let optional = optional.into_iter().filter_map(|(column, values)| Some((column, values?)));
    let optional: Vec<(usize, &[f64])> = optional.collect();
    let columns = (0..AVAILABILITY).chain(optional.iter().map(|(column, _)| *column));
    let names: Vec<&str> = columns.map(|column| FORMAT.columns[column].name).collect();
    let mut output = BufWriter::new(output);
    writeln!(output, "{}", names.join(","))?;
    for n in 0..fleet.len() {
        write_text(&mut output, fleet.name(n))?;
        write!(output, ",{},{},{}", fleet.compute_secs()[n], fleet.comm_secs()[n], fleet.samples()[n])?;
        for (_, values) in &optional {
            // A device without a limit beside others that have one.
            let value = if values[n].is_finite() { values[n] } else { UNLIMITED_MBPS };
            write!(output, ",{value}")?;
        }
        writeln!(output)?;
    }
    output.flush()
}
