//! Files that somebody made to mislead: wrong sizes, lines without an end, another format's content.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_samples::inspect::LabelSummary;
use fedflip_samples::{Table, files};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const ENDINGS: [&str; 4] = ["npz", "safetensors", "parquet", "csv"];

fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

fn read(name: &str, bytes: &[u8]) -> Result<Table, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    files::read(&[path]).map_err(|error| format!("{error}; {}", error.hint()))
}

#[track_caller]
fn refused(name: &str, bytes: &[u8], said: &str) {
    let refusal = read(name, bytes).map(|table| table.len()).unwrap_err();
    assert!(refusal.contains(said), "{refusal}");
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

fn npz(method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Two samples of two bytes.
fn small(method: CompressionMethod, x: &[u8]) -> Vec<u8> {
    npz(method, &[("x", npy("|u1", "(2, 2)", x)), ("y", npy("|u1", "(2,)", &[0, 1]))])
}

#[test]
fn an_archive_is_held_to_its_sizes_and_checksums() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let right = small(method, &[1, 2, 3, 4]);
        let whole = read("right.npz", &right).unwrap();
        refused("long.npz", &small(method, &[1, 2, 3, 4, 5]), "array x has bytes beyond its values");
        refused("short.npz", &small(method, &[1, 2, 3]), "the file holds only");
        // The sizes and checksums that the directory at the end of the archive has of x.
        let directory = right.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        for (at, bytes) in [(16, 4), (20, 4), (24, 4)] {
            for byte in 0..bytes {
                for change in [1, 0x40, 0xff] {
                    let mut wrong = right.clone();
                    wrong[directory + at + byte] ^= change;
                    let table = read("wrong.npz", &wrong);
                    // A size that is larger than what is there hurts nobody if the values are right.
                    let is_wrong = table.is_ok_and(|table| at == 16 || table != whole);
                    assert!(!is_wrong, "{method:?}, byte {} changed by {change}", at + byte);
                }
            }
        }
    }
    let mut changed = small(CompressionMethod::Stored, &[201, 202, 203, 204]);
    let value = changed.windows(4).position(|bytes| bytes == [201, 202, 203, 204]).unwrap();
    changed[value] += 1;
    refused("changed.npz", &changed, "not a valid npz file: ");
    // A bomb: an array that inflates to a thousand times what its header needs.
    let mut values = vec![0; 50_000_000];
    values[..4].copy_from_slice(&[1, 2, 3, 4]);
    refused("bomb.npz", &small(CompressionMethod::Deflated, &values), "array x has bytes beyond its values");
}

#[test]
fn texts_without_characters_cannot_be_claimed_in_billions() {
    for descr in ["<U0", "|S0"] {
        let device = npy(descr, "(1000000000000,)", &[]);
        let arrays = [("x", npy("|u1", "(1, 1)", &[1])), ("y", npy("|u1", "(1,)", &[0])), ("device", device)];
        refused("texts.npz", &npz(CompressionMethod::Stored, &arrays), &format!("has the type {descr}"));
    }
    let device = npy("<U1", "(1,)", &[0; 4]);
    let arrays = [("x", npy("|u1", "(1, 1)", &[1])), ("y", npy("|u1", "(1,)", &[0])), ("device", device)];
    refused("empty.npz", &npz(CompressionMethod::Stored, &arrays), "sample 0, device: \"\" is not a name");
}

#[test]
fn rows_that_a_parquet_file_claims_must_be_there() {
    let right = golden("plain.parquet");
    let footer_bytes = u32::from_le_bytes(*right[..right.len() - 4].last_chunk().unwrap()) as usize;
    let footer = right.len() - 8 - footer_bytes..right.len() - 8;
    // The first group has 4 rows, which Thrift writes as 8. Others of these bytes are something else.
    let fours: Vec<usize> = footer.filter(|at| right[*at] == 8).collect();
    let mut refusals = String::new();
    for four in fours {
        for claim in [0_i64, 3, 5, -1, 1 << 40, i64::MAX] {
            let mut varint = Vec::new();
            let mut rest = ((claim << 1) ^ (claim >> 63)) as u64;
            while rest > 127 {
                varint.push(rest as u8 | 128);
                rest >>= 7;
            }
            varint.push(rest as u8);
            let mut lying = right.clone();
            let longer = varint.len() - 1;
            lying.splice(four..=four, varint);
            let end = lying.len() - 8;
            lying[end..end + 4].copy_from_slice(&((footer_bytes + longer) as u32).to_le_bytes());
            match read("lying.parquet", &lying) {
                Ok(table) => assert_eq!(table.len(), 6, "byte {four} is {claim}"),
                Err(refusal) => refusals += &refusal,
            }
        }
    }
    for said in ["of 5 rows", "has more than 3 rows", "rows is negative", "bytes of memory; the limit is"] {
        assert!(refusals.contains(said), "{said}: {refusals}");
    }
}

#[test]
fn a_dictionary_holds_the_values_that_it_claims() {
    let right = golden("plain.parquet");
    // A page's header: the type of a dictionary is 2 (4 in Thrift), and its own header begins with the number of values.
    let fields = right.windows(2).enumerate().filter(|(_, bytes)| *bytes == [0x4c, 0x15]);
    let places: Vec<usize> = fields.map(|(at, _)| at + 2).collect();
    assert!(!places.is_empty());
    for place in places {
        let mut lying = right.clone();
        lying[place] = 126;
        refused("lying.parquet", &lying, "claims 63 values");
    }
}

#[test]
fn a_line_without_an_end_is_not_held() {
    let endless = "1".repeat((1 << 24) + 10_000);
    refused("header.csv", endless.as_bytes(), "a line has more than 16777216 bytes");
    refused("line.csv", format!("a,label\n1,0\n{endless}").as_bytes(), "a line has more than");
    let quote = format!("a,label\n\"{}", "1,2\n".repeat(1 << 23));
    refused("quote.csv", quote.as_bytes(), "a line has more than");
    refused("columns.csv", ",".repeat((1 << 20) + 1).as_bytes(), "columns; at most 1048576 are read");
    // Long, but not too long.
    let wide = format!("{}label\n{}1\n", "a,".repeat(100_000), "2,".repeat(100_000));
    assert_eq!(read("wide.csv", wide.as_bytes()).unwrap().shape, [100_000]);
}

#[test]
fn the_name_of_a_file_must_say_its_format() {
    for name in ["bytes.npz", "bytes.safetensors", "plain.parquet", "table.csv"] {
        for ending in ENDINGS.iter().filter(|ending| !name.ends_with(**ending)) {
            assert!(read(&format!("mislabelled.{ending}"), &golden(name)).is_err(), "{name} as {ending}");
        }
    }
    for ending in ENDINGS {
        for bytes in [&b""[..], b"\0", b"\n", b"label", b"\xff\xfe\xff"] {
            assert!(read(&format!("small.{ending}"), bytes).is_err(), "{bytes:?} as {ending}");
        }
    }
}

#[test]
fn one_class_is_read_and_told() {
    let table = read("one.csv", b"a,label\n1,3\n2,3\n").unwrap();
    assert_eq!(table.inspect().labels, LabelSummary::Classes([(3, 2)].into()));
}

#[test]
fn texts_are_utf_8_and_not_endless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.txt");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        files::read_texts(std::slice::from_ref(&path)).map_err(|error| error.to_string())
    };
    assert_eq!(read("To be,\r\nor not\r".as_bytes()), Ok(vec!["To be,\r\nor not\r".to_owned()]));
    assert!(read(b"To be \xff").unwrap_err().contains("byte 6 is not UTF-8"));
    assert!(read("é".as_bytes().split_last().unwrap().1).unwrap_err().contains("byte 0 is not UTF-8"));
    assert!(read(b"").unwrap_err().contains("no samples"));
    assert!(read(b" \r\n\t").unwrap_err().contains("no samples"));
    // A file of holes takes no space on the disk.
    File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    let refusal = files::read_texts(&[path]).unwrap_err().to_string();
    assert!(refusal.contains("would take 1073741825 bytes of memory; the limit is 1073741824"), "{refusal}");
}

#[test]
fn a_sample_has_at_most_four_dimensions() {
    let x = npy("|u1", "(2, 1, 1, 1, 1, 1)", &[1, 2]);
    let five = npz(CompressionMethod::Stored, &[("x", x), ("y", npy("|u1", "(2,)", &[0, 1]))]);
    refused("five.npz", &five, "array x has the shape (2, 1, 1, 1, 1, 1); a sample has at most 4 dimensions");
}

#[test]
fn a_file_that_ends_too_early_is_told_from_a_file_that_is_not_there() {
    let whole = golden("bytes.safetensors");
    for end in [3, 8, 40] {
        refused("cut.safetensors", &whole[..end], "write the file again");
    }
    refused("cut.safetensors", &whole[..3], "not a valid safetensors file: the file ends too early");
}
