//! Damaged and hostile files: they are refused or read, in bounded memory, and never panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::Path;

use fedflip_samples::{Features, Labels, files};
use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const GOLDEN: [&str; 6] =
    ["bytes.npz", "floats.npz", "bytes.safetensors", "snappy.parquet", "gzip.parquet", "table.csv"];

fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

/// What becomes of these bytes under this name.
fn read(name: &str, bytes: &[u8]) -> Result<usize, String> {
    read_in(tempfile::tempdir().unwrap().path(), name, bytes)
}

fn read_in(folder: &Path, name: &str, bytes: &[u8]) -> Result<usize, String> {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    let table = files::read(&[path]).map_err(|error| format!("{error}; {}", error.hint()))?;
    let features = match &table.features {
        Features::Bytes(values) => values.len(),
        Features::Floats(values) => values.len(),
    };
    assert_eq!(features, table.len() * table.shape.iter().product::<usize>());
    if let Some(devices) = &table.devices {
        assert!(devices.of_samples.len() == table.len());
        assert!(devices.of_samples.iter().all(|at| (*at as usize) < devices.names.len()));
    }
    Ok(table.len())
}

/// An array as NumPy writes it.
fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values);
    bytes
}

fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn claims_that_the_file_cannot_keep_take_no_memory() {
    let y = || ("y", npy("<i8", "(2,)", &[0; 16]));
    for (shape, values, said) in [
        ("(2, 1000000000000)", 6, "the file holds only"),
        ("(18446744073709551615, 18446744073709551615)", 6, "the file holds only"),
        ("(99999999999999999999999, 2)", 6, "the header"),
        ("(2, -3)", 6, "the header"),
        ("()", 1, "its first dimension counts the samples"),
        ("(0, 3)", 0, "there are no samples"),
        ("(2, 0)", 0, "there are no samples"),
        ("(3, 2)", 6, "it must be (3)"),
    ] {
        let refused =
            read("claims.npz", &npz(&[("x", npy("|u1", shape, &vec![7; values])), y()])).unwrap_err();
        assert!(refused.contains(said), "{shape}: {refused}");
    }
    // Deflate cannot make anything smaller than a thousandth.
    let bomb = npz(&[("x", npy("|u1", "(2, 400000000)", &vec![0; 1 << 20])), y()]);
    assert!(read("bomb.npz", &bomb).unwrap_err().contains("the file holds only"));
    let header = br#"{"x":{"dtype":"F32","shape":[1,4294967295],"data_offsets":[0,17179869180]}}"#;
    let tensor = [&(header.len() as u64).to_le_bytes()[..], header].concat();
    assert!(read("claims.safetensors", &tensor).is_err());
    let endless = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    assert!(read("endless.safetensors", &endless).unwrap_err().contains("the header has"));
}

#[test]
fn values_that_cannot_be_used_are_named_with_their_place() {
    for (text, said) in [
        ("a,b,label\n1,2,0\n3,x,1\n", "line 3, column b: \"x\" is not a number"),
        ("a,b,label\n1,2,0\n3,,1\n", "line 3, column b: \"\" is not a number"),
        ("a,b,label\n1,2,0\n3,4\n", "line 3 has 2 values, and the header has 3"),
        ("a,b,label\n1,nan,0\n", "sample 0: NaN is not a finite number"),
        ("a,b,label\n1,1e999,0\n", "inf is not a finite number"),
        ("a,label\n1,nan\n", "label: NaN is not a finite number"),
        ("a,label,device\n1,1,\n", "device: \"\" is not a name"),
        ("a,b\n1,2\n", "column label is missing; the file has a, b"),
        ("a;b;label\n1;2;0\n", "separate the values by commas"),
        ("label,device\n1,2\n", "column of features is missing"),
        ("a,label,label\n1,2,3\n", "two columns are called label"),
        ("a,label\n", "there are no samples"),
        ("", "column label is missing"),
    ] {
        let refused = read("mine.csv", text.as_bytes()).unwrap_err();
        assert!(refused.contains(said), "{text:?}: {refused}");
    }
    let infinite =
        npz(&[("x", npy("<f4", "(1, 1)", &f32::INFINITY.to_le_bytes())), ("y", npy("<i4", "(1,)", &[0; 4]))]);
    assert!(read("infinite.npz", &infinite).unwrap_err().contains("sample 0: inf is not a finite number"));
}

#[test]
fn whole_labels_are_classes_and_others_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.csv");
    for (labels, expected) in [
        (["1", "0"], Labels::Classes(vec![1, 0])),
        (["1.0", "0"], Labels::Classes(vec![1, 0])),
        (["1.5", "0"], Labels::Numbers(vec![1.5, 0.0])),
        (["-1", "1"], Labels::Numbers(vec![-1.0, 1.0])),
        (["100000", "250000"], Labels::Numbers(vec![100_000.0, 250_000.0])),
    ] {
        fs::write(&path, format!("\u{feff}a,label\r\n1,{}\r\n2, {}\r\n", labels[0], labels[1])).unwrap();
        assert_eq!(files::read(std::slice::from_ref(&path)).unwrap().labels, expected);
    }
}

#[test]
fn every_beginning_of_a_file_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in GOLDEN {
        let bytes = golden(name);
        assert_eq!(read(name, &bytes), Ok(6));
        let step = bytes.len().div_ceil(700);
        for end in (0..bytes.len()).step_by(step) {
            if let Ok(samples) = read_in(folder.path(), name, &bytes[..end]) {
                assert!(name == "table.csv" && samples <= 6, "{name} cut at {end}: {samples} samples");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_change_of_a_file_makes_it_panic(
        which in 0..GOLDEN.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = golden(GOLDEN[which]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(GOLDEN[which], &bytes);
    }

    #[test]
    fn what_numpy_writes_is_read_back(
        samples in 1..20_usize,
        width in 1..9_usize,
        seed in any::<u8>(),
    ) {
        let values: Vec<u8> = (0..samples * width).map(|at| (at as u8).wrapping_mul(31) ^ seed).collect();
        let labels: Vec<u8> = (0..samples).flat_map(|at| (at as i16 % 7).to_le_bytes()).collect();
        let archive = npz(&[
            ("x", npy("|u1", &format!("({samples}, {width})"), &values)),
            ("y", npy("<i2", &format!("({samples},)"), &labels)),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.npz");
        fs::write(&path, archive).unwrap();
        let table = files::read(&[path]).unwrap();
        prop_assert_eq!(&table.features, &Features::Bytes(values));
        prop_assert_eq!(&table.labels, &Labels::Classes((0..samples).map(|at| at as u32 % 7).collect()));
    }
}

/// Device names in another encoding: replaced by a sign for what cannot be read, two devices would become one.
#[test]
fn a_table_in_another_encoding_is_refused_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, place) in [
        ("cell.csv", &b"a,label,device\n1,0,ok\n2,1,Stra\xdfe\n"[..], "line 3, column device"),
        ("header.csv", &b"gr\xf6\xdfe,label\n1,0\n"[..], "line 1, column 1"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = fedflip_samples::files::read(&[path]).unwrap_err();
        let text = format!("{error}; {}", error.hint());
        assert!(text.contains(place) && text.contains("UTF-8 text"), "{text}");
    }
}
