//! TFRecord frames: what an event file of TensorBoard is made of.
//!
//! A frame is its length, the length's checksum, the bytes, their checksum. The checksum is CRC-32C, rotated
//! and shifted so that data which hold checksums themselves do not confuse it. It is computed here: forty
//! lines, and events are too short for a processor's instruction to matter.

/// The frame of some bytes.
pub(super) fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    let [of_length, of_bytes] = [&length, bytes].map(|sum| masked(crc32c(sum)).to_le_bytes());
    [&length, &of_length[..], bytes, &of_bytes].concat()
}

/// As TFRecord stores a checksum.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The Castagnoli polynomial, its lowest power at the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What each byte does to the checksum.
static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &byte: &u8| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)];
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 3720, appendix B.4.
    #[test]
    fn checksums_are_those_of_the_standard() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        assert_eq!(crc32c(&descending), 0x113f_db5c);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_frame_is_its_bytes_and_sixteen_more() {
        let frame = framed(b"event");
        assert_eq!(frame.len(), 16 + 5);
        assert_eq!(&frame[..8], 5_u64.to_le_bytes());
        assert_eq!(&frame[12..17], b"event");
        assert_eq!(&frame[17..], masked(crc32c(b"event")).to_le_bytes());
    }
}
