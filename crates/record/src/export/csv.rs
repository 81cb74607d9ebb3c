//! Tables as CSV, for spreadsheets. No number needs quotes; words get them where they need them.

use std::io::{self, Write};

use fedflip_fleet::csv_file::write_text_for_spreadsheets;

use super::table::{Column, Table};

/// Writes a header line, and a line a row; what is missing is left empty. A word that a spreadsheet would take for a
/// formula has a single quote in front; Parquet has it as it is.
pub fn write(table: &Table, mut output: impl Write) -> io::Result<()> {
    for (place, (name, _)) in table.columns.iter().enumerate() {
        if place > 0 {
            output.write_all(b",")?;
        }
        write_text_for_spreadsheets(&mut output, name)?;
    }
    output.write_all(b"\n")?;
    for row in 0..table.rows() {
        for (place, (_, column)) in table.columns.iter().enumerate() {
            if place > 0 {
                output.write_all(b",")?;
            }
            match column {
                Column::Whole(values) => write!(output, "{}", values[row])?,
                Column::Number(values) => write!(output, "{}", values[row])?,
                Column::Text(values) => write_text_for_spreadsheets(&mut output, &values[row])?,
                Column::Optional(values) => {
                    values[row].map_or(Ok(()), |value| write!(output, "{value}"))?;
                }
            }
        }
        output.write_all(b"\n")?;
    }
    Ok(())
}
