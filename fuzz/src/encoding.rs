//! Updates in fewer bits.

use fedflip_learn::encoding::{BLOCK, Undecodable};
use fedflip_learn::{Encoding, TrainKey};

use crate::memory;

/// More than a block, and an odd number of them.
const NUMBERS: usize = BLOCK + 3;

/// Bytes of the right length are finite numbers, or refused; of any other they are refused. Every encoding gets
/// the same bytes, as they are and cut or filled up to its length.
pub fn check(bytes: &[u8]) {
    for (_, encoding) in Encoding::ALL {
        decode(encoding, bytes, NUMBERS);
        let mut fitting = bytes.to_vec();
        fitting.resize(encoding.bytes(NUMBERS), 0);
        decode(encoding, &fitting, NUMBERS);
        for numbers in [0, 1, 2, 5] {
            decode(encoding, &bytes[..bytes.len().min(encoding.bytes(numbers))], numbers);
        }
    }
}

fn decode(encoding: Encoding, bytes: &[u8], len: usize) {
    let mut numbers = vec![f32::NAN; len];
    let decoded = memory::within(0, || encoding.decode(bytes, &mut numbers));
    let want = encoding.bytes(len);
    match decoded {
        Ok(()) => {
            assert_eq!(bytes.len(), want);
            assert!(numbers.iter().all(|number| number.is_finite()));
            sent_again(encoding, bytes, &numbers);
        }
        Err(Undecodable::WrongLength { have, want: wanted }) => {
            assert_eq!((have, wanted), (bytes.len(), want));
            assert_ne!(have, want);
        }
        Err(Undecodable::NoNumber) => assert_eq!(bytes.len(), want),
    }
}

/// What came out can be sent again, and where the encoding has every such number, comes to the same bytes.
fn sent_again(encoding: Encoding, bytes: &[u8], numbers: &[f32]) {
    let key = TrainKey::new(1, 1, 1);
    let mut again = Vec::new();
    encoding.encode(numbers, &mut key.rounding(), &mut again);
    assert_eq!(again.len(), bytes.len());
    assert!(encoding.decode(&again, &mut numbers.to_vec()).is_ok());
    if matches!(encoding, Encoding::F32 | Encoding::F16) {
        assert_eq!(again, bytes);
    }
}
