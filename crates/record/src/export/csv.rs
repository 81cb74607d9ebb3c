//! Tables as CSV. No number needs quotes; words get them where they need them.

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
                Column::Text(values) => write_text(&values[row], &mut output)?,
                Column::Optional(values) => {
                    values[row].map_or(Ok(()), |value| write!(output, "{value}"))?;
                }
            }
        }
        output.write_all(b"\n")?;
    }
    Ok(())
}

/// In quotes where it would otherwise not read back the same.
fn write_text(text: &str, output: &mut impl Write) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        write!(output, "\"{}\"", text.replace('"', "\"\""))
    } else {
        output.write_all(text.as_bytes())
    }
}
