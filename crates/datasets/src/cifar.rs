//! CIFAR-10: its binary records, and the PNG batches that one package holds in their place.
//!
//! A record is one label byte, then 1024 bytes each of red, green and blue in raster order. A PNG batch is
//! 1024 pixels wide and one row an image: row i holds the 1024 pixels of image i. Nothing is lost on the
//! way: records made from the PNGs have the published sums.

use std::io::Cursor;

use super::error::DataError;

/// Pixels of an image.
pub const PIXELS: usize = 32 * 32;
/// Bytes of an image.
pub const IMAGE_BYTES: usize = 3 * PIXELS;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 1 + IMAGE_BYTES;
/// Kinds of things on the images.
pub const CLASSES: u8 = 10;

/// Appends the images of `records` channels last (red, green, blue of each pixel) and their labels.
pub fn parse_records(
    records: &[u8],
    file: &str,
    images: &mut Vec<u8>,
    labels: &mut Vec<u8>,
) -> Result<(), DataError> {
    let (records, rest) = records.as_chunks::<RECORD_BYTES>();
    if !rest.is_empty() {
        let found = (records.len() * RECORD_BYTES + rest.len()) as u64;
        let expected = ((records.len() + 1) * RECORD_BYTES) as u64;
        return Err(DataError::Length { file: file.to_owned(), expected, found });
    }
    images.reserve(records.len() * IMAGE_BYTES);
    for (number, [label, planes @ ..]) in records.iter().enumerate() {
        check_label(*label, number, file)?;
        labels.push(*label);
        let (red, rest) = planes.split_at(PIXELS);
        let (green, blue) = rest.split_at(PIXELS);
        for ((&red, &green), &blue) in red.iter().zip(green).zip(blue) {
            images.extend([red, green, blue]);
        }
    }
    Ok(())
}

/// Records from a PNG batch with one row for each label.
pub fn records_from_png(png: &[u8], labels: &[u8], file: &str) -> Result<Vec<u8>, DataError> {
    let damaged = |error: png::DecodingError| DataError::malformed(file, format!("damaged PNG: {error}"));
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().map_err(damaged)?;
    let info = reader.info();
    let shape = (info.width as usize, info.height as usize, info.color_type, info.bit_depth);
    if shape != (PIXELS, labels.len(), png::ColorType::Rgb, png::BitDepth::Eight) {
        let problem = format!(
            "a PNG of {} by {} in {:?} with {:?} bits, not {PIXELS} by {} in RGB with 8: not a batch",
            shape.0,
            shape.1,
            shape.2,
            shape.3,
            labels.len()
        );
        return Err(DataError::malformed(file, problem));
    }
    // The shape is known by now, so the header cannot ask for more memory than a batch takes.
    let mut pixels = vec![0; labels.len() * IMAGE_BYTES];
    reader.next_frame(&mut pixels).map_err(damaged)?;

    let mut records = Vec::with_capacity(labels.len() * RECORD_BYTES);
    for (number, (&label, row)) in labels.iter().zip(pixels.as_chunks::<IMAGE_BYTES>().0).enumerate() {
        check_label(label, number, file)?;
        records.push(label);
        for channel in 0..3 {
            records.extend(row.iter().skip(channel).step_by(3));
        }
    }
    Ok(records)
}

/// Labels from a JSON list of whole numbers.
pub fn labels_from_json(json: &[u8], expected: usize, file: &str) -> Result<Vec<u8>, DataError> {
    let labels: Vec<u8> = serde_json::from_slice(json)
        .map_err(|error| DataError::malformed(file, format!("not a JSON list of labels: {error}")))?;
    if labels.len() != expected {
        let problem = format!("{} labels, not {expected}", labels.len());
        return Err(DataError::malformed(file, problem));
    }
    Ok(labels)
}

fn check_label(label: u8, number: usize, file: &str) -> Result<(), DataError> {
    if label < CLASSES {
        return Ok(());
    }
    Err(DataError::malformed(file, format!("image {number} has the label {label}, not one of 0 to 9")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tiny_png(rows: u32, color: png::ColorType) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, PIXELS as u32, rows);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        let samples = color.samples() * PIXELS * rows as usize;
        let pixels: Vec<u8> = (0..samples).map(|n| (n * 7 % 251) as u8).collect();
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        bytes
    }

    #[test]
    fn a_batch_becomes_records_and_comes_back_channels_last() {
        let records = records_from_png(&tiny_png(2, png::ColorType::Rgb), &[3, 9], "b.png").unwrap();
        assert_eq!(records.len(), 2 * RECORD_BYTES);
        // Label, then the red of pixels 0 and 1, which stand three bytes apart in the PNG.
        assert_eq!(records[..3], [3, 0, 21]);
        assert_eq!((records[1 + PIXELS], records[RECORD_BYTES]), (7, 9));

        let (mut images, mut labels) = (Vec::new(), Vec::new());
        parse_records(&records, "b.bin", &mut images, &mut labels).unwrap();
        assert_eq!(labels, [3, 9]);
        let original: Vec<u8> = (0..2 * IMAGE_BYTES).map(|n| (n * 7 % 251) as u8).collect();
        assert_eq!(images, original);
    }

    #[test]
    fn other_pngs_truncated_ones_and_odd_labels_are_refused() {
        let refusal =
            |png: &[u8], labels: &[u8]| records_from_png(png, labels, "b.png").unwrap_err().to_string();
        let good = tiny_png(2, png::ColorType::Rgb);
        assert!(refusal(&good, &[1]).contains("1024 by 2"));
        assert!(refusal(&tiny_png(2, png::ColorType::Grayscale), &[1, 2]).contains("Grayscale"));
        assert!(refusal(&good, &[1, 10]).contains("image 1 has the label 10"));
        for end in [0, 7, 20, 40, good.len() / 2] {
            assert!(refusal(&good[..end], &[1, 2]).starts_with("b.png: damaged PNG"), "{end}");
        }
    }

    #[test]
    fn a_torn_record_is_refused() {
        let error = parse_records(&[0; RECORD_BYTES + 5], "b.bin", &mut vec![], &mut vec![]).unwrap_err();
        assert_eq!(error.to_string(), "b.bin: truncated: 6146 bytes expected, 3078 found");
    }

    #[test]
    fn labels_are_a_list_of_the_right_length() {
        assert_eq!(labels_from_json(b"[1, 2]", 2, "l").unwrap(), [1, 2]);
        for (json, word) in [("[1]", "1 labels, not 2"), ("[1,256]", "JSON"), ("{", "JSON"), ("", "JSON")] {
            let error = labels_from_json(json.as_bytes(), 2, "l").unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 8_usize..3000) {
            let _ = records_from_png(&bytes, &[1, 2], "x");
            let _ = labels_from_json(&bytes, 3, "x");
            let _ = parse_records(&bytes, "x", &mut vec![], &mut vec![]);
            let mut png = tiny_png(2, png::ColorType::Rgb);
            let at = at % png.len();
            png[at] ^= bytes.first().copied().unwrap_or(1);
            let _ = records_from_png(&png, &[1, 2], "x");
        }
    }
}
