//! Tables as Parquet, which pandas, Polars and DuckDB open.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::table::{Column, Table};

/// Writes all rows as one row group. The bytes depend on the table alone.
pub fn write(table: &Table, output: impl Write + Send) -> io::Result<()> {
    try_write(table, output).map_err(|error| match error {
        ParquetError::External(error) => io::Error::other(error),
        error => io::Error::other(error),
    })
}

fn try_write(table: &Table, output: impl Write + Send) -> Result<(), ParquetError> {
    // Built and not parsed: a metric may have any name.
    let mut fields = Vec::with_capacity(table.columns.len());
    for (name, column) in &table.columns {
        let (physical, repetition, converted) = match column {
            Column::Whole(_) => (Physical::INT64, Repetition::REQUIRED, ConvertedType::NONE),
            Column::Number(_) => (Physical::DOUBLE, Repetition::REQUIRED, ConvertedType::NONE),
            Column::Optional(_) => (Physical::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
            Column::Text(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted)
            .build()?;
        fields.push(Arc::new(field));
    }
    let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_created_by("fedflip".to_owned()).build();
    let mut file = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))?;
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
