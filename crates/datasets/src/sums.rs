//! MD5 sums: what the authors publish. They tell damage and mix-ups, not malice.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use md5::{Digest, Md5};

use super::catalogue::{FileSpec, SETS, SetSpec};
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

/// Refuses bytes that are not those of `spec`, a file of `set`; `file` is what to call them.
pub fn verify(bytes: &[u8], spec: &FileSpec, set: &SetSpec, file: &str) -> Result<(), DataError> {
    judge(bytes.len() as u64, || Ok(md5_hex(bytes)), spec, set, file)
}

/// The same for a file, however long.
pub fn verify_file(path: &Path, spec: &FileSpec, set: &SetSpec) -> Result<(), DataError> {
    let bytes = std::fs::metadata(path).map_err(DataError::io(path, "read it"))?.len();
    judge(bytes, || md5_of_file(path), spec, set, &path.display().to_string())
}

/// Reads a whole file of at most `bytes_max`: a longer one is refused unread.
pub fn read_bounded(path: &Path, bytes_max: u64, set: &SetSpec) -> Result<Vec<u8>, DataError> {
    let found = std::fs::metadata(path).map_err(DataError::io(path, "read it"))?.len();
    let shown = path.display().to_string();
    if found > bytes_max {
        let swapped = known_by_length(set, found).then(|| md5_of_file(path)).transpose()?;
        return Err(match swapped.and_then(|md5| whose(&md5, set)) {
            Some(is) => DataError::Swapped { file: shown, is },
            None => DataError::malformed(
                &shown,
                format!("too long: at most {bytes_max} bytes expected, {found} found"),
            ),
        });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(DataError::io(path, "open it"))?;
    // It may grow while it is read.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(DataError::io(path, "read it"))?;
    Ok(bytes)
}

/// Which file of which set has this sum: saying it saves who mixed files up the search.
pub fn whose(md5: &str, set: &SetSpec) -> Option<String> {
    known(set).find(|(_, file)| file.md5 == md5).map(|(set, file)| format!("{} of {set}", file.name))
}

fn known(set: &SetSpec) -> impl Iterator<Item = (&'static str, &'static FileSpec)> {
    std::iter::once(*set)
        .chain(SETS.map(|set| *set))
        .flat_map(|set| set.files.iter().chain(set.published).map(move |file| (set.name, file)))
}

fn known_by_length(set: &SetSpec, bytes: u64) -> bool {
    known(set).any(|(_, file)| file.bytes == bytes)
}

fn judge(
    bytes: u64,
    md5: impl FnOnce() -> Result<String, DataError>,
    spec: &FileSpec,
    set: &SetSpec,
    file: &str,
) -> Result<(), DataError> {
    let file = file.to_owned();
    let length = DataError::Length { file: file.clone(), expected: spec.bytes, found: bytes };
    if bytes != spec.bytes && !known_by_length(set, bytes) {
        return Err(length);
    }
    let found = md5()?;
    if found == spec.md5 {
        return Ok(());
    }
    Err(match whose(&found, set) {
        Some(is) => DataError::Swapped { file, is },
        None if bytes != spec.bytes => length,
        None => DataError::Checksum { file, expected: spec.md5.to_owned(), found },
    })
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: FileSpec = FileSpec { name: "abc", bytes: 3, md5: "900150983cd24fb0d6963f7d28e17f72" };
    const EMPTY: FileSpec = FileSpec { name: "empty", bytes: 0, md5: "d41d8cd98f00b204e9800998ecf8427e" };

    fn set() -> SetSpec {
        SetSpec { name: "letters", files: &[ABC, EMPTY], ..crate::catalogue::MNIST }
    }

    #[test]
    fn a_known_sum() {
        assert_eq!(md5_hex(b""), EMPTY.md5);
        assert_eq!(md5_hex(b"abc"), ABC.md5);
    }

    #[test]
    fn short_long_changed_and_swapped_bytes_are_told_apart() {
        assert!(verify(b"abc", &ABC, &set(), "x").is_ok());
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("x");
        let text = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let from_file = verify_file(&path, &ABC, &set()).unwrap_err().to_string();
            let from_bytes =
                verify(bytes, &ABC, &set(), &path.display().to_string()).unwrap_err().to_string();
            assert_eq!(from_file, from_bytes);
            from_file.rsplit_once("/x: ").unwrap().1.to_owned()
        };
        assert_eq!(text(b"ab"), "truncated: 3 bytes expected, 2 found");
        assert_eq!(text(b"abcd"), "too long: 3 bytes expected, 4 found");
        assert_eq!(text(b""), "this is empty of letters under another name");
        assert!(text(b"abd").starts_with("wrong content: the MD5 sum is 4911e516e5aa21d327512e0c8b197616"));
    }

    #[test]
    fn no_more_is_read_than_a_file_may_have() {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("x");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(read_bounded(&path, 3, &set()).unwrap(), b"abc");
        let text = |most| read_bounded(&path, most, &set()).unwrap_err().to_string();
        assert!(text(2).ends_with("/x: this is abc of letters under another name"), "{}", text(2));
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(text(2).ends_with("/x: too long: at most 2 bytes expected, 1099511627776 found"));
    }
}
