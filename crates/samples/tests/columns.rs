//! Columns of tables: names of features, and numbers that only a wide type can hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_samples::{Features, Labels, Table, files};
use parquet::data_type::{DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// A table with an integer feature, a label and a device.
fn parquet(types: [&str; 2], feature: &[i32], label: &[f64], device: &[i64]) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.parquet");
    let [feature_type, device_type] = types;
    let schema = format!(
        "message rows {{ required int32 a{feature_type}; required double label; required int64 device{device_type}; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(File::create(&path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(feature, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(label, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(device, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    files::read(&[path]).unwrap()
}

#[test]
fn integers_of_parquet_keep_every_digit_and_their_sign() {
    let large = (1 << 53) + 1;
    let table = parquet(["", ""], &[-1, 2], &[0.0, 1.0], &[large, large - 1]);
    assert_eq!(table.devices.unwrap().names, ["9007199254740992", "9007199254740993"]);
    assert_eq!(table.features, Features::Floats(vec![-1.0, 2.0]));
    let table = parquet([" (UINT_32)", " (UINT_64)"], &[-1, 2], &[0.0, 1.0], &[-1, -2]);
    assert_eq!(table.devices.unwrap().names, ["18446744073709551614", "18446744073709551615"]);
    assert_eq!(table.features, Features::Floats(vec![4_294_967_295.0, 2.0]));
}

#[test]
fn a_column_of_floats_is_a_regression_even_if_all_labels_are_whole() {
    let table = parquet(["", ""], &[1, 2], &[3.0, 4.0], &[1, 2]);
    assert_eq!(table.labels, Labels::Numbers(vec![3.0, 4.0]));
}

#[test]
fn columns_are_matched_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let first = write(folder.path(), "1.csv", "age,weight,label\n30,80,0\n");
    let second = write(folder.path(), "2.csv", "weight,label,age\n70,1,40\n");
    let both = files::read(&[first.clone(), second]).unwrap();
    assert_eq!(both.columns, ["age", "weight"]);
    assert_eq!(both.features, Features::Floats(vec![30.0, 80.0, 40.0, 70.0]));
    let other = write(folder.path(), "3.csv", "age,height,label\n1,2,0\n");
    let refused = files::read(&[first, other]).unwrap_err();
    assert!(refused.to_string().contains("3.csv: the table has height, which "), "{refused}");
}

#[test]
fn folders_in_a_pattern_stand_for_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("b[1]");
    fs::create_dir(&odd).unwrap();
    write(&odd, "part-1.csv", "a,label\n1,0\n");
    for (start, pattern) in [(odd.as_path(), "part-*.csv"), (folder.path(), "b[1]/part-*.csv")] {
        assert_eq!(files::found(start, &[pattern.to_owned()]).unwrap(), [odd.join("part-1.csv")]);
    }
}

#[test]
fn a_folder_of_tables_may_hold_notes() {
    let folder = tempfile::tempdir().unwrap();
    let notes = write(folder.path(), "README.txt", "These are tables.");
    let all = [".".to_owned()];
    assert_eq!(files::found(folder.path(), &all).unwrap(), [folder.path().join("./README.txt")]);
    assert!(files::left_out(folder.path(), &all).unwrap().is_empty());
    write(folder.path(), "a.csv", "a,label\n1,0\n");
    assert_eq!(files::read(&files::found(folder.path(), &all).unwrap()).unwrap().len(), 1);
    let left_out = files::left_out(folder.path(), &all).unwrap();
    assert_eq!(left_out.iter().map(|file| file.file_name()).collect::<Vec<_>>(), [notes.file_name()]);
}
