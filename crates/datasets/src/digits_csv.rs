//! MNIST as comma-separated values, as one package holds it, turned into IDX.
//!
//! One line of column names, then a line for each image: the label and its pixels in raster order, as
//! whole numbers. Nothing is lost on the way: the IDX files made from it have the sums of the published
//! ones.

use super::error::DataError;

/// Which of the two IDX files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Square images, in three dimensions.
    Images,
    /// One file with all labels.
    Labels,
}

/// An IDX file from a CSV file; `file` is its name for refusals.
pub fn to_idx(csv: &[u8], part: Part, file: &str) -> Result<Vec<u8>, DataError> {
    let mut lines = csv.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let columns = lines.next().unwrap_or_default().split(|&byte| byte == b',').count();
    let pixels = columns - 1;
    let side = pixels.isqrt();
    if pixels == 0 || side * side != pixels {
        let problem = format!("{columns} columns, not a label and the pixels of a square");
        return Err(DataError::malformed(file, problem));
    }
    let mut data = Vec::new();
    let mut images: u32 = 0;
    // The names of columns are line 1.
    for (number, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let wrong = |problem: String| DataError::malformed(file, format!("line {}: {problem}", number + 2));
        let before = data.len();
        let mut found = 0;
        for (column, value) in line.split(|&byte| byte == b',').enumerate() {
            let byte = parse_byte(value).ok_or_else(|| {
                let shown = String::from_utf8_lossy(&value[..value.len().min(20)]).into_owned();
                wrong(format!("{shown:?} is no whole number from 0 to 255"))
            })?;
            if (column == 0) == (part == Part::Labels) {
                data.push(byte);
            }
            found += 1;
        }
        if found != columns {
            data.truncate(before);
            return Err(wrong(format!("{found} values, not {columns}")));
        }
        images += 1;
    }
    let dims = [images, side as u32, side as u32];
    let rank = if part == Part::Labels { 1 } else { 3 };
    let header =
        [0, 0, 8, rank].into_iter().chain(dims.into_iter().take(rank.into()).flat_map(u32::to_be_bytes));
    data.splice(0..0, header);
    Ok(data)
}

fn parse_byte(digits: &[u8]) -> Option<u8> {
    if digits.is_empty() || digits.len() > 3 {
        return None;
    }
    digits.iter().try_fold(0_u8, |value, digit| {
        value.checked_mul(10)?.checked_add(digit.checked_sub(b'0').filter(|&digit| digit < 10)?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::idx;
    use super::*;

    const TINY: &[u8] = b"label,1x1,1x2,2x1,2x2\r\n7,0,255,3,4\r\n0,9,8,7,6\r\n";

    #[test]
    fn a_tiny_file_becomes_images_and_labels() {
        let images = to_idx(TINY, Part::Images, "x").unwrap();
        let parsed = idx::parse(&images, 3, "x").unwrap();
        assert_eq!((parsed.dims.as_slice(), parsed.data), (&[2, 2, 2][..], &[0, 255, 3, 4, 9, 8, 7, 6][..]));
        let labels = to_idx(TINY, Part::Labels, "x").unwrap();
        assert_eq!(idx::parse(&labels, 1, "x").unwrap().data, [7, 0]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (csv, wanted) in [
            ("", "x: 1 columns, not a label"),
            ("l,a,b\n", "x: 3 columns"),
            ("l,a\n1,2\n3\n", "x: line 3: 1 values, not 2"),
            ("l,a\n1,2,3\n", "x: line 2: 3 values, not 2"),
            ("l,a\n1,256\n", "x: line 2: \"256\" is no whole number"),
            ("l,a\n1,-1\n", "x: line 2: \"-1\""),
            ("l,a\n,1\n", "x: line 2: \"\""),
        ] {
            let error = to_idx(csv.as_bytes(), Part::Images, "x").unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[0-9,\n]{0,100}") {
            for part in [Part::Images, Part::Labels] {
                let _ = to_idx(&bytes, part, "x");
                let _ = to_idx(text.as_bytes(), part, "x");
            }
        }
    }
}
