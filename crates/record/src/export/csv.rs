//! Tables as CSV. No name and no number needs quotes.

use std::io::{self, Write};

use super::table::{Column, Table};

/// Writes a header line, and a line a row; what is missing is left empty.
pub fn write(table: &Table, mut output: impl Write) -> io::Result<()> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    writeln!(output, "{}", names.join(","))?;
    for row in 0..table.rows() {
        for (place, (_, column)) in table.columns.iter().enumerate() {
            if place > 0 {
                output.write_all(b",")?;
            }
            match column {
                Column::Whole(values) => write!(output, "{}", values[row])?,
                Column::Number(values) => write!(output, "{}", values[row])?,
                Column::Optional(values) => {
                    values[row].map_or(Ok(()), |value| write!(output, "{value}"))?;
                }
            }
        }
        output.write_all(b"\n")?;
    }
    Ok(())
}
