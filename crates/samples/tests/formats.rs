//! Files that other programs wrote (golden/make.py), read back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use fedflip_samples::{Devices, Features, Labels, Table, files};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str) -> Table {
    files::read(&[golden(name)]).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(name: &str) -> String {
    let error = files::read(&[golden(name)]).unwrap_err();
    assert!(!error.hint().is_empty());
    error.to_string()
}

fn bytes() -> Vec<u8> {
    (0..36).map(|number| (number * 7 % 256) as u8).collect()
}

fn floats() -> Vec<f32> {
    bytes().into_iter().map(f32::from).collect()
}

fn classes() -> Labels {
    Labels::Classes(vec![0, 1, 2, 1, 0, 2])
}

fn wards() -> Option<Devices> {
    let names = ["ward-a", "ward-b", "ward-c"].map(String::from).to_vec();
    Some(Devices { names, of_samples: vec![1, 0, 1, 0, 2, 2] })
}

fn numbered() -> Option<Devices> {
    Some(Devices { names: ["2", "3", "10"].map(String::from).to_vec(), of_samples: vec![2, 0, 2, 0, 1, 1] })
}

#[test]
fn arrays_are_read_in_their_types_and_shapes() {
    let expected = Table {
        shape: vec![2, 3],
        columns: Vec::new(),
        features: Features::Bytes(bytes()),
        labels: classes(),
        devices: wards(),
    };
    assert_eq!(read("bytes.npz"), expected);
    assert_eq!(read("ascii.npz"), expected);
    let numbered = Table { devices: numbered(), ..expected };
    assert_eq!(read("bytes.safetensors"), numbered);
    let scaled = Features::Floats(floats().into_iter().map(|value| value / 255.0).collect());
    assert_eq!(read("floats.npz"), Table { features: scaled, ..numbered });
    let features = Features::Floats(floats());
    assert_eq!(read("doubles.npz"), Table { features: features.clone(), devices: None, ..read("bytes.npz") });
    let numbers = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0].map(|number: f64| number as f32);
    let labels = read("regression.npz").labels;
    let Labels::Numbers(found) = labels else { panic!("{labels:?}") };
    assert!(found.iter().zip(numbers).all(|(found, number)| (found - number).abs() < 1e-6));
}

#[test]
fn tables_of_every_writer_and_codec_are_the_same() {
    let columns = (0..6).map(|n| format!("f{n}")).collect();
    let features = Features::Floats(floats());
    let expected = Table { shape: vec![6], columns, features, labels: classes(), devices: wards() };
    for name in [
        "table.csv",
        "plain.parquet",
        "snappy.parquet",
        "zstd.parquet",
        "gzip.parquet",
        "lz4.parquet",
        "duckdb.parquet",
    ] {
        assert_eq!(read(name), expected, "{name}");
    }
}

#[test]
fn several_files_are_one_table_and_devices_are_put_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let found =
        files::found(&folder, &["*z.npz".into(), "bytes.npz".into(), "asc*.npz".into(), "bytes.npz".into()]);
    assert!(found.is_err(), "a pattern without a file");
    let found =
        files::found(&folder, &["bytes.npz".into(), "*s.safetensors".into(), "bytes.npz".into()]).unwrap();
    assert_eq!(found.len(), 2, "each file once");
    let both = files::read(&found).unwrap();
    assert_eq!(
        (both.len(), both.devices.as_ref().unwrap().names.join(" ")),
        (12, "2 3 10 ward-a ward-b ward-c".into())
    );
    assert_eq!(both.devices.unwrap().of_samples, [4, 3, 4, 3, 5, 5, 2, 0, 2, 0, 1, 1]);
    let differs = files::read(&[golden("bytes.npz"), golden("doubles.npz")]).unwrap_err().to_string();
    assert!(differs.contains("doubles.npz: the type of x is floats; in "), "{differs}");
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    for (file, said) in [
        ("objects.npz", "array device holds Python objects"),
        ("fortran.npz", "array x has the shape (6, 2, 3); save it in C order"),
        ("half.npz", "array x has the type <f2"),
        ("big-endian.npz", "array x has the type >f4"),
        ("other-names.npz", "array x is missing; the file has images, labels"),
        ("null.parquet", "row 4, column f1: null is not a value"),
        ("lists.parquet", "column image.list.element has the type list"),
        ("brotli.parquet", "its compression has the type brotli"),
        ("times.parquet", "column at has the type date or time"),
        ("make.py", "the format \"py\" is not known"),
        ("absent.npz", "cannot be read"),
    ] {
        let refusal = refusal(file);
        assert!(refusal.contains(file) && refusal.contains(said), "{refusal}");
    }
}
