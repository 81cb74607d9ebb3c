//! A million rows within memory that the table justifies. Ten million are measured by `examples/reading_speed.rs`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fedflip_samples::{Labels, files};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const ROWS: usize = 1_000_000;
/// Buffers of readers, and what the tests themselves have.
const BUFFERS: u64 = 16 << 20;

/// The peak of memory belongs to the process, so one test at a time is measured.
static MEASURING: Mutex<()> = Mutex::new(());

fn memory(which: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap();
    1024 * line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap()
}

/// Reads the file of a million rows with four features, ten classes and a thousand devices.
fn check(file: PathBuf) {
    // The kernel's way to start a new peak.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS");
    let table = files::read(&[file]).unwrap();
    let taken = memory("VmHWM").saturating_sub(before);
    assert!(taken < table.bytes() * 3 / 2 + BUFFERS, "{taken} bytes for a table of {}", table.bytes());
    assert_eq!((table.len(), &table.shape[..]), (ROWS, &[4][..]));
    assert_eq!(table.labels, Labels::Classes((0..ROWS).map(|row| row as u32 % 10).collect()));
    let devices = table.devices.unwrap();
    assert_eq!((devices.names.len(), devices.names[1].as_str()), (1000, "ward-1"));
    assert_eq!((devices.of_samples[1], devices.of_samples[999_001]), (1, 1));
}

fn ward(row: usize) -> String {
    format!("ward-{}", row % 1000)
}

fn feature(row: usize, column: usize) -> f32 {
    (row % 977 + column) as f32
}

fn write_csv(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    writeln!(file, "a,b,c,d,label,device").unwrap();
    for row in 0..ROWS {
        let [a, b, c, d] = [0, 1, 2, 3].map(|column| feature(row, column));
        writeln!(file, "{a},{b},{c},{d},{},{}", row % 10, ward(row)).unwrap();
    }
    file.flush().unwrap();
}

fn write_parquet(path: &Path) {
    let schema = "message rows { required float a; required float b; required float c; required float d;
        required int32 label; required binary device (UTF8); }";
    let (schema, properties) = (parse_message_type(schema).unwrap(), WriterProperties::default());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    for first in (0..ROWS).step_by(ROWS / 8) {
        let rows = first..first + ROWS / 8;
        let mut group = writer.next_row_group().unwrap();
        for index in 0.. {
            let Some(mut column) = group.next_column().unwrap() else { break };
            match index {
                4 => {
                    let labels: Vec<i32> = rows.clone().map(|row| row as i32 % 10).collect();
                    column.typed::<Int32Type>().write_batch(&labels, None, None).unwrap();
                }
                5 => {
                    let devices: Vec<ByteArray> = rows.clone().map(|row| ward(row).as_str().into()).collect();
                    column.typed::<ByteArrayType>().write_batch(&devices, None, None).unwrap();
                }
                _ => {
                    let values: Vec<f32> = rows.clone().map(|row| feature(row, index)).collect();
                    column.typed::<FloatType>().write_batch(&values, None, None).unwrap();
                }
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn a_million_rows_of_csv_take_little_more_than_their_table() {
    let _alone = MEASURING.lock();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    write_csv(&path);
    check(path);
}

#[test]
fn a_million_rows_of_parquet_take_little_more_than_their_table() {
    let _alone = MEASURING.lock();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write_parquet(&path);
    check(path);
}
