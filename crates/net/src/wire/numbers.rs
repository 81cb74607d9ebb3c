//! Vectors as bytes, little-endian, and their digests.

use sha2::{Digest, Sha256};

pub const DIGEST_BYTES: usize = 32;

/// SHA-256 of a vector's bytes.
pub type VectorDigest = [u8; DIGEST_BYTES];

pub fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub fn digest(numbers: &[f32]) -> VectorDigest {
    let mut hash = Sha256::new();
    // Some kilobytes at a time: no second copy of a large model.
    let mut bytes = Vec::with_capacity(4 * 4096);
    for numbers in numbers.chunks(4096) {
        bytes.clear();
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        hash.update(&bytes);
    }
    hash.finalize().into()
}

/// As [`digest`], of a vector whose bytes are there.
pub fn digest_of_bytes(bytes: &[u8]) -> VectorDigest {
    Sha256::digest(bytes).into()
}

/// Why bytes that a peer sends are not the vector that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongBytes {
    TooMany,
    TooFew,
    /// Not the ones that were announced.
    OtherDigest,
}

/// A vector of a known length in the making, from chunks of any size.
#[derive(Debug)]
pub struct Collector {
    numbers: Vec<f32>,
    wanted: usize,
    /// The first bytes of a number whose last bytes have not come.
    partial: [u8; 4],
    partial_len: usize,
    hash: Sha256,
}

impl Collector {
    /// Of `wanted` numbers; memory is taken at once, so that it can be counted before.
    pub fn new(wanted: usize) -> Self {
        let numbers = Vec::with_capacity(wanted);
        Self { numbers, wanted, partial: [0; 4], partial_len: 0, hash: Sha256::new() }
    }

    pub fn bytes(&self) -> usize {
        4 * self.numbers.len() + self.partial_len
    }

    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), WrongBytes> {
        if self.bytes() + bytes.len() > 4 * self.wanted {
            return Err(WrongBytes::TooMany);
        }
        self.hash.update(bytes);
        while self.partial_len > 0 && !bytes.is_empty() {
            self.partial[self.partial_len] = bytes[0];
            (self.partial_len, bytes) = (self.partial_len + 1, &bytes[1..]);
            if self.partial_len == 4 {
                self.numbers.push(f32::from_le_bytes(self.partial));
                self.partial_len = 0;
            }
        }
        let (whole, rest) = bytes.as_chunks::<4>();
        self.numbers.extend(whole.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        if !rest.is_empty() {
            self.partial[..rest.len()].copy_from_slice(rest);
            self.partial_len = rest.len();
        }
        Ok(())
    }

    /// The vector, if it is whole and the one that was announced.
    pub fn finish(self, announced: &[u8]) -> Result<Vec<f32>, WrongBytes> {
        if self.numbers.len() < self.wanted {
            return Err(WrongBytes::TooFew);
        }
        let found: VectorDigest = self.hash.finalize().into();
        if found != *announced { Err(WrongBytes::OtherDigest) } else { Ok(self.numbers) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunks_of_any_size_make_the_same_vector(
            numbers in prop::collection::vec(any::<f32>(), 0..300),
            cuts in prop::collection::vec(0..40_usize, 1..400),
        ) {
            let bytes = to_bytes(&numbers);
            let mut collector = Collector::new(numbers.len());
            let mut at = 0;
            for len in cuts.iter().cycle().map(|len| len.max(&1)) {
                let end = (at + len).min(bytes.len());
                collector.push(&bytes[at..end]).unwrap();
                at = end;
                if at == bytes.len() {
                    break;
                }
            }
            prop_assert_eq!(digest(&numbers), digest_of_bytes(&bytes));
            let found = collector.finish(&digest(&numbers)).unwrap();
            prop_assert_eq!(to_bytes(&found), bytes);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let numbers = [1.0_f32, 2.0, f32::NAN];
        let bytes = to_bytes(&numbers);
        let announced = digest(&numbers);
        let collect = |bytes: &[u8], announced: &[u8]| {
            let mut collector = Collector::new(3);
            collector.push(bytes).and_then(|()| collector.finish(announced)).map(|_| ())
        };
        assert_eq!(collect(&bytes, &announced), Ok(()));
        assert_eq!(collect(&bytes[..11], &announced), Err(WrongBytes::TooFew));
        assert_eq!(collect(&[&bytes[..], &[0]].concat(), &announced), Err(WrongBytes::TooMany));
        assert_eq!(collect(&bytes, &announced[..31]), Err(WrongBytes::OtherDigest));
        let mut changed = bytes.clone();
        changed[5] ^= 1;
        assert_eq!(collect(&changed, &announced), Err(WrongBytes::OtherDigest));
    }
}
