//! Samples as Parquet: one row group at a time is decoded, one column after the other.

use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::columns::{self, Role, Rows};
use crate::error::Problem;
use crate::table::Table;

/// Rows that are decoded at a time.
const ROWS: usize = 8192;

/// The library panics on some damaged files. What is known of these is checked before; a panic that is not known yet is
/// answered as damage, too.
pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let read = panic::catch_unwind(AssertUnwindSafe(|| read_file(file, length)));
    read.unwrap_or_else(|_| Err(Problem::malformed("Parquet", "its pages contradict each other")))
}

fn read_file(file: File, length: u64) -> Result<Table, Problem> {
    let file = SerializedFileReader::new(file).map_err(malformed)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let roles = columns::roles(&names)?;
    for column in schema.columns() {
        check(column)?;
    }
    let mut rows = Rows::new(&roles);
    let groups = file.metadata().row_groups().iter();
    if groups.flat_map(RowGroupMetaData::columns).any(|column| !lies_within(column, length)) {
        return Err(Problem::malformed("Parquet", "a column lies outside of the file"));
    }
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(malformed)?;
        read_group(&*group, &roles, &mut rows)?;
    }
    rows.table()
}

fn malformed(error: ParquetError) -> Problem {
    Problem::malformed("Parquet", error)
}

fn lies_within(column: &ColumnChunkMetaData, length: u64) -> bool {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    range.is_some_and(|(start, bytes)| start.checked_add(bytes).is_some_and(|end| end <= length))
        && column.num_values() >= 0
}

/// Lists and groups are no columns of a table.
fn check(column: &ColumnDescriptor) -> Result<(), Problem> {
    let found = if column.max_rep_level() > 0 {
        "list".to_owned()
    } else if matches!(column.physical_type(), Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY)
        || column.converted_type() == ConvertedType::DECIMAL
    {
        format!("{:?}", column.physical_type())
    } else {
        return Ok(());
    };
    Err(Problem::Type { what: format!("column {}", column.path().string()), found, wanted: "numbers" })
}

fn read_group(group: &dyn RowGroupReader, roles: &[Role], rows: &mut Rows) -> Result<(), Problem> {
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
    let before = rows.labels.len();
    let columns = group.metadata().columns();
    for (index, role) in roles.iter().enumerate() {
        let name = columns[index].column_path().string();
        let reader = group.get_column_reader(index).map_err(malformed)?;
        let target = Target { name: &name, role: *role, row: before, rows: &mut *rows };
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                target.numbers(reader, |value| f64::from(u8::from(*value)))?;
            }
            ColumnReader::Int32ColumnReader(reader) => target.numbers(reader, |value| f64::from(*value))?,
            ColumnReader::Int64ColumnReader(reader) => target.numbers(reader, |value| *value as f64)?,
            ColumnReader::FloatColumnReader(reader) => target.numbers(reader, |value| f64::from(*value))?,
            ColumnReader::DoubleColumnReader(reader) => target.numbers(reader, |value| *value)?,
            ColumnReader::ByteArrayColumnReader(reader) => target.texts(reader)?,
            _ => {
                return Err(Problem::Type {
                    what: format!("column {name}"),
                    found: "other".into(),
                    wanted: "numbers",
                });
            }
        }
        let read = match role {
            Role::Label => rows.labels.len() - before,
            Role::Device => rows.devices.as_ref().map_or(0, Vec::len) - before,
            Role::Feature(_) => count,
        };
        if read != count {
            return Err(Problem::malformed("Parquet", format!("column {name} has {read} of {count} rows")));
        }
    }
    Ok(())
}

/// Where the values of a column go.
struct Target<'a> {
    name: &'a str,
    role: Role,
    row: usize,
    rows: &'a mut Rows,
}

impl Target<'_> {
    fn numbers<T: DataType>(
        self,
        reader: ColumnReaderImpl<T>,
        number: fn(&T::T) -> f64,
    ) -> Result<(), Problem> {
        let Self { name, role, row, rows } = self;
        let width = rows.features;
        let mut place = row;
        each(reader, name, row, |value| {
            match role {
                Role::Label => rows.labels.push(number(value)),
                // Numbers name devices, too.
                Role::Device => rows.devices.iter_mut().for_each(|all| all.push(number(value).to_string())),
                Role::Feature(feature) => {
                    let needed = (place + 1) * width;
                    if rows.x.len() < needed {
                        rows.x.resize(needed, 0.0);
                    }
                    rows.x[place * width + feature] = number(value) as f32;
                }
            }
            place += 1;
            Ok(())
        })
    }

    fn texts(self, reader: ColumnReaderImpl<parquet::data_type::ByteArrayType>) -> Result<(), Problem> {
        let Self { name, role, row, rows } = self;
        each(reader, name, row, |value: &ByteArray| match (role, &mut rows.devices) {
            (Role::Device, Some(devices)) => {
                let text = value.as_utf8().map_err(malformed)?;
                devices.push(text.to_owned());
                Ok(())
            }
            _ => {
                Err(Problem::Type { what: format!("column {name}"), found: "text".into(), wanted: "numbers" })
            }
        })
    }
}

/// Every value of a column; a row without one is refused.
fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    name: &str,
    first: usize,
    mut take: impl FnMut(&T::T) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (mut values, mut present, mut row) = (Vec::new(), Vec::new(), first);
    loop {
        values.clear();
        present.clear();
        let (records, read, _) =
            reader.read_records(ROWS, Some(&mut present), None, &mut values).map_err(malformed)?;
        if read < records {
            let missing = present.iter().position(|level| *level == 0).unwrap_or(0);
            let place = format!("row {}, column {name}", row + missing + 1);
            return Err(Problem::Value { place, value: "null".to_owned(), wanted: "a value" });
        }
        values.iter().try_for_each(&mut take)?;
        row += records;
        if records == 0 {
            return Ok(());
        }
    }
}
