//! Tables as Parquet, which pandas, Polars and DuckDB open.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::table::{Column, Table};

/// Writes all rows as one row group. The bytes depend on the table alone.
pub fn write(table: &Table, output: impl Write + Send) -> io::Result<()> {
    try_write(table, output).map_err(|error| match error {
        ParquetError::External(error) => io::Error::other(error),
        error => io::Error::other(error),
    })
}

fn try_write(table: &Table, output: impl Write + Send) -> Result<(), ParquetError> {
    let mut schema = format!("message {} {{", table.name);
    for (name, column) in &table.columns {
        let kind = match column {
            Column::Whole(_) => "required int64",
            Column::Number(_) => "required double",
            Column::Optional(_) => "optional double",
            Column::Text(_) => "required binary",
        };
        // Writing to a string does not fail.
        let text = if matches!(column, Column::Text(_)) { " (UTF8)" } else { "" };
        let _ = write!(schema, " {kind} {name}{text};");
    }
    schema.push('}');
    let properties = WriterProperties::builder().set_created_by("fedflip".to_owned()).build();
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(output, schema, Arc::new(properties))?;
    let mut rows = file.next_row_group()?;
    for (_, column) in &table.columns {
        let Some(mut writer) = rows.next_column()? else { break };
        match column {
            Column::Whole(values) => writer.typed::<Int64Type>().write_batch(values, None, None)?,
            Column::Number(values) => writer.typed::<DoubleType>().write_batch(values, None, None)?,
            Column::Text(values) => {
                let bytes: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(&**text)).collect();
                writer.typed::<ByteArrayType>().write_batch(&bytes, None, None)?
            }
            Column::Optional(values) => {
                let there: Vec<f64> = values.iter().copied().flatten().collect();
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                writer.typed::<DoubleType>().write_batch(&there, Some(&levels), None)?
            }
        };
        writer.close()?;
    }
    rows.close()?;
    file.close()?;
    Ok(())
}
