//! MD5 sums: what the authors publish. They tell damage and mix-ups, not malice.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use md5::{Digest, Md5};

use super::catalogue::FileSpec;
use super::error::DataError;

/// The sum of some bytes, as hexadecimal digits.
pub fn md5_hex(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// The sum of a file, read in pieces.
pub fn md5_of_file(path: &Path) -> Result<String, DataError> {
    let mut file = File::open(path).map_err(DataError::io(path, "open it"))?;
    let mut sum = Md5::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece).map_err(DataError::io(path, "read it"))? {
            0 => return Ok(hex(&sum.finalize())),
            n => sum.update(&piece[..n]),
        }
    }
}

/// Refuses bytes that are not those of `spec`; `file` is what to call them.
pub fn verify(bytes: &[u8], spec: &FileSpec, file: &str) -> Result<(), DataError> {
    let found = bytes.len() as u64;
    if found != spec.bytes {
        return Err(DataError::Length { file: file.to_owned(), expected: spec.bytes, found });
    }
    let found = md5_hex(bytes);
    if found != spec.md5 {
        return Err(DataError::Checksum { file: file.to_owned(), expected: spec.md5.to_owned(), found });
    }
    Ok(())
}

/// Whether a file is there with exactly this size and sum.
pub fn is_whole(path: &Path, bytes: u64, md5: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes)
        && md5_of_file(path).is_ok_and(|found| found == md5)
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sum() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
    }

    #[test]
    fn short_long_and_changed_bytes_are_told_apart() {
        let spec = FileSpec { name: "abc", bytes: 3, md5: "900150983cd24fb0d6963f7d28e17f72" };
        assert!(verify(b"abc", &spec, "x").is_ok());
        let text = |bytes| verify(bytes, &spec, "x").unwrap_err().to_string();
        assert_eq!(text(b"ab"), "x: truncated: 3 bytes expected, 2 found");
        assert_eq!(text(b"abcd"), "x: too long: 3 bytes expected, 4 found");
        assert!(text(b"abd").contains("wrong content"));
    }
}
