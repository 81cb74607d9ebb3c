//! IDX, the format of MNIST: two zero bytes, a type (8 for bytes), the number of dimensions, each
//! dimension as 4 bytes big-endian, then the data. Also gzipped.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::error::DataError;

/// The content of an IDX file of bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Idx<'a> {
    /// The size of each dimension, outermost first.
    pub dims: Vec<usize>,
    /// As many bytes as the sizes multiply to.
    pub data: &'a [u8],
}

/// Reads an IDX file of bytes with `rank` dimensions; `file` is its name for refusals.
pub fn parse<'a>(bytes: &'a [u8], rank: u8, file: &str) -> Result<Idx<'a>, DataError> {
    let length = |expected: usize| DataError::Length {
        file: file.to_owned(),
        expected: expected as u64,
        found: bytes.len() as u64,
    };
    let header = 4 + 4 * usize::from(rank);
    let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
        return Err(length(header));
    };
    if *magic != [0, 0, 8, rank] {
        let [a, b, c, d] = magic;
        let problem = format!(
            "not an IDX file of bytes in {rank} dimensions: it begins {a:02x} {b:02x} {c:02x} {d:02x}, \
             not 00 00 08 {rank:02x}"
        );
        return Err(DataError::malformed(file, problem));
    }
    let Some((sizes, data)) = rest.split_at_checked(4 * usize::from(rank)) else {
        return Err(length(header));
    };
    let (sizes, _) = sizes.as_chunks::<4>();
    let dims: Vec<usize> = sizes.iter().map(|&size| u32::from_be_bytes(size) as usize).collect();
    // A header may claim anything: a product too large to count is too large to be there.
    let total = dims.iter().try_fold(1_usize, |total, &dim| total.checked_mul(dim)).unwrap_or(usize::MAX);
    if total != data.len() {
        return Err(length(total.saturating_add(header)));
    }
    Ok(Idx { dims, data })
}

/// Whether these bytes are gzipped.
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Unpacks gzipped bytes, up to one byte more than `expected`: a bomb is cut short, and shows by its length.
pub fn gunzip(bytes: &[u8], expected: u64, file: &str) -> Result<Vec<u8>, DataError> {
    let mut unpacked = Vec::new();
    match MultiGzDecoder::new(bytes).take(expected.saturating_add(1)).read_to_end(&mut unpacked) {
        Ok(_) => Ok(unpacked),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            Err(DataError::Length { file: file.to_owned(), expected, found: unpacked.len() as u64 })
        }
        Err(error) => Err(DataError::malformed(file, format!("damaged gzip: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    const TINY: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut writer = GzEncoder::new(Vec::new(), Compression::default());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn a_tiny_file_plain_and_gzipped() {
        let idx = parse(TINY, 3, "tiny").unwrap();
        assert_eq!(idx, Idx { dims: vec![2, 1, 3], data: &[1, 2, 3, 4, 5, 6] });
        assert!(is_gzip(&gz(TINY)) && !is_gzip(TINY));
        assert_eq!(gunzip(&gz(TINY), TINY.len() as u64, "tiny.gz").unwrap(), TINY);
    }

    #[test]
    fn every_truncation_is_refused_with_both_lengths() {
        for end in 0..TINY.len() {
            let error = parse(&TINY[..end], 3, "tiny").unwrap_err().to_string();
            assert!(
                error.starts_with("tiny: truncated: ") && error.contains(&format!("{end} found")),
                "{error}"
            );
        }
        let packed = gz(TINY);
        for end in 0..packed.len() {
            assert!(
                gunzip(&packed[..end], 22, "tiny.gz").unwrap_err().to_string().contains("tiny.gz"),
                "{end}"
            );
        }
    }

    #[test]
    fn labels_in_place_of_images_are_refused() {
        let error = parse(TINY, 1, "labels").unwrap_err().to_string();
        assert!(error.contains("00 00 08 03, not 00 00 08 01"), "{error}");
    }

    #[test]
    fn a_bomb_is_cut_short() {
        assert_eq!(gunzip(&gz(&[0; 100_000]), 10, "bomb").unwrap().len(), 11);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64), rank: u8, head: bool) {
            if head && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&[0, 0, 8, rank]);
            }
            let _ = parse(&bytes, rank, "x");
            let _ = gunzip(&bytes, 1000, "x");
            let mut packed = gz(&bytes);
            let at = bytes.first().map_or(0, |&b| usize::from(b) % packed.len());
            packed[at] ^= 0x55;
            let _ = gunzip(&packed, 1000, "x");
        }
    }
}
