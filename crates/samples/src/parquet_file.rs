//! Samples as Parquet: one row group at a time is decoded, one column after the other.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::columns::{self, Role, Rows};
use crate::error::Problem;
use crate::parquet_pages::CheckedPages;
use crate::quiet;
use crate::table::Table;

/// Rows that are decoded at a time.
const ROWS: usize = 8192;
/// A table of this size is read from the smallest file: equal values take hardly any space in it.
const BYTES_ALWAYS: u64 = 1 << 30;
/// A larger table is read from a file that has at least this share of its bytes.
const COMPRESSION_MAX: u64 = 1000;
/// What the library says, before the name, of a compression that it was built without.
const NO_CODEC: &str = "Disabled feature at compile time: ";

/// The library panics on some damaged files. What is known of these is checked before; a panic that is not known yet is
/// answered as damage, too.
pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    quiet::caught(|| read_file(file, length))
        .unwrap_or_else(|| Err(Problem::malformed("Parquet", "its pages contradict each other")))
}

fn read_file(file: File, length: u64) -> Result<Table, Problem> {
    let file = SerializedFileReader::new(file).map_err(malformed)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let roles = columns::roles(&names)?;
    for column in schema.columns() {
        check(column)?;
    }
    let mut rows = Rows::new(&roles, &names);
    let groups = file.metadata().row_groups().iter();
    if groups.flat_map(RowGroupMetaData::columns).any(|column| !lies_within(column, length)) {
        return Err(Problem::malformed("Parquet", "a column lies outside of the file"));
    }
    check_rows(file.metadata(), rows.features, length)?;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(malformed)?;
        read_group(&*group, &roles, &mut rows)?;
    }
    rows.table()
}

fn malformed(error: ParquetError) -> Problem {
    let text = error.to_string();
    if let Some((_, codec)) = text.split_once(NO_CODEC) {
        return Problem::Type {
            what: "its compression".to_owned(),
            found: codec.trim().to_owned(),
            wanted: "snappy, zstd, gzip or lz4",
        };
    }
    Problem::malformed("Parquet", error)
}

fn lies_within(column: &ColumnChunkMetaData, length: u64) -> bool {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    range.is_some_and(|(start, bytes)| start.checked_add(bytes).is_some_and(|end| end <= length))
        && column.num_values() >= 0
}

/// The numbers of rows are claims, and each row takes memory.
fn check_rows(metadata: &ParquetMetaData, features: usize, length: u64) -> Result<(), Problem> {
    let counts = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()));
    let Ok(counts) = counts.collect::<Result<Vec<u64>, _>>() else {
        return Err(Problem::malformed("Parquet", "a number of rows is negative"));
    };
    let rows = counts.into_iter().fold(0, u64::saturating_add);
    let bytes = rows.saturating_mul(4 * (features as u64 + 1));
    let limit = BYTES_ALWAYS.max(length.saturating_mul(COMPRESSION_MAX));
    if bytes > limit { Err(Problem::TooLarge { bytes, limit }) } else { Ok(()) }
}

/// Lists, groups and times are no columns of numbers: a time in microseconds would outweigh every other feature.
fn check(column: &ColumnDescriptor) -> Result<(), Problem> {
    let found = if column.max_rep_level() > 0 {
        "list".to_owned()
    } else if is_time(column) {
        "date or time".to_owned()
    } else if matches!(column.physical_type(), Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY)
        || column.converted_type() == ConvertedType::DECIMAL
    {
        format!("{:?}", column.physical_type())
    } else {
        return Ok(());
    };
    Err(Problem::Type { what: format!("column {}", column.path().string()), found, wanted: "numbers" })
}

fn is_time(column: &ColumnDescriptor) -> bool {
    matches!(
        column.logical_type_ref(),
        Some(LogicalType::Date | LogicalType::Time(_) | LogicalType::Timestamp(_))
    ) || matches!(
        column.converted_type(),
        ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
    )
}

fn read_group(group: &dyn RowGroupReader, roles: &[Role], rows: &mut Rows) -> Result<(), Problem> {
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
    let before = rows.labelled();
    let columns = group.metadata().columns();
    if columns.len() != roles.len() {
        return Err(Problem::malformed("Parquet", "a group of rows has other columns"));
    }
    for (index, role) in roles.iter().enumerate() {
        let name = columns[index].column_path().string();
        let pages = Box::new(CheckedPages(group.get_column_page_reader(index).map_err(malformed)?));
        let reader = get_column_reader(columns[index].column_descr_ptr(), pages);
        let target =
            Target { name: &name, role: *role, row: before, end: before.saturating_add(count), rows };
        let read = target.read(reader, is_unsigned(columns[index].column_descr()))?;
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
    /// The first row, and one past the last.
    row: usize,
    end: usize,
    rows: &'a mut Rows,
}

/// Whether integers of a column have no sign: the library hands their bits out as signed integers.
fn is_unsigned(column: &ColumnDescriptor) -> bool {
    let converted = column.converted_type();
    matches!(column.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed)
        || [ConvertedType::UINT_8, ConvertedType::UINT_16, ConvertedType::UINT_32, ConvertedType::UINT_64]
            .contains(&converted)
}

/// A number of a column.
#[derive(Clone, Copy)]
enum Cell {
    Whole(i128),
    Float(f64),
}

impl Target<'_> {
    /// Reads all values of a column, and returns their number.
    fn read(self, reader: ColumnReader, is_unsigned: bool) -> Result<usize, Problem> {
        let name = self.name;
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                self.numbers(reader, |value| Cell::Whole(i128::from(*value)))
            }
            ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
                self.numbers(reader, |value| Cell::Whole(value.cast_unsigned().into()))
            }
            ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
                self.numbers(reader, |value| Cell::Whole(value.cast_unsigned().into()))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                self.numbers(reader, |value| Cell::Whole((*value).into()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                self.numbers(reader, |value| Cell::Whole((*value).into()))
            }
            ColumnReader::FloatColumnReader(reader) => {
                self.numbers(reader, |value| Cell::Float((*value).into()))
            }
            ColumnReader::DoubleColumnReader(reader) => self.numbers(reader, |value| Cell::Float(*value)),
            ColumnReader::ByteArrayColumnReader(reader) => self.texts(reader),
            _ => Err(Problem::Type {
                what: format!("column {name}"),
                found: "other".into(),
                wanted: "numbers",
            }),
        }
    }

    fn numbers<T: DataType>(
        self,
        reader: ColumnReaderImpl<T>,
        number: impl Fn(&T::T) -> Cell,
    ) -> Result<usize, Problem> {
        let Self { name, role, row, end, rows } = self;
        let width = rows.features;
        let mut place = row;
        each(reader, name, row..end, |value| {
            match (role, number(value)) {
                (Role::Label, Cell::Whole(label)) => rows.push_label(label as f64),
                (Role::Label, Cell::Float(label)) => rows.push_number(label),
                // Numbers name devices, too.
                (Role::Device, Cell::Whole(name)) => rows.push_device(&name.to_string()),
                (Role::Device, Cell::Float(name)) => rows.push_device(&name.to_string()),
                (Role::Feature(feature), value) => {
                    let needed = (place + 1) * width;
                    if rows.x.len() < needed {
                        rows.x.resize(needed, 0.0);
                    }
                    rows.x[place * width + feature] = match value {
                        Cell::Whole(value) => value as f32,
                        Cell::Float(value) => value as f32,
                    };
                }
            }
            place += 1;
            Ok(())
        })
    }

    fn texts(self, reader: ColumnReaderImpl<parquet::data_type::ByteArrayType>) -> Result<usize, Problem> {
        let Self { name, role, row, end, rows } = self;
        each(reader, name, row..end, |value: &ByteArray| match (role, &mut rows.devices) {
            (Role::Device, Some(devices)) => {
                let text = value.as_utf8().map_err(malformed)?;
                devices.push(text.trim());
                Ok(())
            }
            (Role::Label, _) => Err(Problem::TextLabel {
                place: format!("column {name}"),
                value: format!(
                    "{:?}",
                    value.as_utf8().unwrap_or("\u{fffd}").chars().take(40).collect::<String>()
                ),
            }),
            _ => {
                Err(Problem::Type { what: format!("column {name}"), found: "text".into(), wanted: "numbers" })
            }
        })
    }
}

/// Every value of a column, and their number; a row without one and rows beyond the last are refused.
fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    name: &str,
    rows: Range<usize>,
    mut take: impl FnMut(&T::T) -> Result<(), Problem>,
) -> Result<usize, Problem> {
    let (mut values, mut present, mut row) = (Vec::new(), Vec::new(), rows.start);
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
        row += records;
        if row > rows.end {
            return Err(Problem::malformed(
                "Parquet",
                format!("column {name} has more than {} rows", rows.len()),
            ));
        }
        values.iter().try_for_each(&mut take)?;
        if records == 0 {
            return Ok(row - rows.start);
        }
    }
}
