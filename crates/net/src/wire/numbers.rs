//! Vectors as little-endian bytes, collected from chunks, and their digests.

use fedflip_learn::Encoding;
use sha2::{Digest, Sha256};

pub const DIGEST_BYTES: usize = 32;

/// SHA-256 of a vector's bytes.
pub type VectorDigest = [u8; DIGEST_BYTES];

pub fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub fn digest(numbers: &[f32]) -> VectorDigest {
    let mut hash = Sha256::new();
    // Some kilobytes at a time, without a second copy of a large model.
    let mut bytes = Vec::with_capacity(4 * 4096);
    for numbers in numbers.chunks(4096) {
        bytes.clear();
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        hash.update(&bytes);
    }
    hash.finalize().into()
}

/// The same as [`digest`], of the vector's bytes.
pub fn digest_of_bytes(bytes: &[u8]) -> VectorDigest {
    Sha256::digest(bytes).into()
}

/// Why the bytes of a peer are not the vector that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongBytes {
    TooMany,
    TooFew,
    /// Not the bytes that were announced.
    OtherDigest,
    /// The bytes that were announced, with a code that stands for no number.
    NoNumber,
}

/// Collects the chunks, of any size, of a vector whose length is known.
#[derive(Debug)]
pub struct Collector {
    encoding: Encoding,
    wanted: usize,
    numbers: Vec<f32>,
    /// Bytes that are not decoded yet: of f32s those of the one that a chunk cut; codes of other encodings need their whole block.
    pending: Vec<u8>,
    hash: Sha256,
}

impl Collector {
    /// For a model of `wanted` parameters.
    pub fn new(wanted: usize) -> Self {
        Self::encoded(Encoding::F32, wanted)
    }

    /// For an update of `wanted` parameters. Memory is allocated at once, so that it can be counted before.
    pub fn encoded(encoding: Encoding, wanted: usize) -> Self {
        let (numbers, pending) = match encoding {
            Encoding::F32 => (Vec::with_capacity(wanted), Vec::with_capacity(4)),
            encoding => (Vec::new(), Vec::with_capacity(encoding.bytes(wanted))),
        };
        Self { encoding, wanted, numbers, pending, hash: Sha256::new() }
    }

    /// The memory of a collector at most, apart from some bytes of its own: the numbers, and the codes that they are
    /// decoded from. An f32 is decoded from its chunk.
    pub fn memory_bytes(encoding: Encoding, wanted: usize) -> usize {
        let numbers = Encoding::F32.bytes(wanted);
        if encoding == Encoding::F32 { numbers } else { numbers + encoding.bytes(wanted) }
    }

    /// The number of bytes so far.
    pub fn bytes(&self) -> usize {
        4 * self.numbers.len() + self.pending.len()
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WrongBytes> {
        if self.bytes() + bytes.len() > self.encoding.bytes(self.wanted) {
            return Err(WrongBytes::TooMany);
        }
        self.hash.update(bytes);
        match self.encoding {
            Encoding::F32 => self.decode_f32(bytes),
            _ => self.pending.extend_from_slice(bytes),
        }
        Ok(())
    }

    /// Completes the number that the last chunk cut, and decodes the others where they are.
    fn decode_f32(&mut self, bytes: &[u8]) {
        let missing = self.pending.len().next_multiple_of(4) - self.pending.len();
        let (head, bytes) = bytes.split_at(missing.min(bytes.len()));
        self.pending.extend_from_slice(head);
        if let Ok(whole) = self.pending.as_slice().try_into() {
            self.numbers.push(f32::from_le_bytes(whole));
            self.pending.clear();
        }
        let (whole, rest) = bytes.as_chunks::<4>();
        self.numbers.extend(whole.iter().map(|&number| f32::from_le_bytes(number)));
        self.pending.extend_from_slice(rest);
    }

    /// The vector, if it is complete and the one that was announced. An f32 may be infinite or NaN.
    pub fn finish(mut self, announced: &[u8]) -> Result<Vec<f32>, WrongBytes> {
        if self.bytes() < self.encoding.bytes(self.wanted) {
            return Err(WrongBytes::TooFew);
        }
        let found: VectorDigest = self.hash.finalize().into();
        if found != *announced {
            return Err(WrongBytes::OtherDigest);
        }
        if self.encoding != Encoding::F32 {
            self.numbers.resize(self.wanted, 0.0);
            // The length is right, so only a code can be wrong.
            let decoded = self.encoding.decode(&self.pending, &mut self.numbers);
            decoded.map_err(|_| WrongBytes::NoNumber)?;
        }
        Ok(self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use fedflip_learn::TrainKey;
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

    #[test]
    fn chunks_of_any_size_make_the_same_update() {
        let mut sent: Vec<f32> = (0..600).map(|n| (n as f32).sin()).collect();
        let key = TrainKey::new(1, 2, 3);
        for (_, encoding) in Encoding::ALL {
            let mut bytes = Vec::new();
            encoding.encode(&sent, &mut key.rounding(), &mut bytes);
            let collect = |bytes: &[u8], chunk, announced: &[u8]| {
                let mut collector = Collector::encoded(encoding, 600);
                bytes.chunks(chunk).try_for_each(|chunk| collector.push(chunk))?;
                assert_eq!(collector.bytes(), bytes.len());
                collector.finish(announced)
            };
            let announced = digest_of_bytes(&bytes);
            let mut there = sent.clone();
            encoding.round_trip(&mut there, &mut key.rounding());
            for chunk in [1, 7, 256, 5000] {
                assert_eq!(collect(&bytes, chunk, &announced), Ok(there.clone()));
            }
            assert_eq!(collect(&bytes[1..], 100, &announced), Err(WrongBytes::TooFew));
            assert_eq!(collect(&[&bytes[..], &[0]].concat(), 100, &announced), Err(WrongBytes::TooMany));
            assert_eq!(collect(&bytes, 100, &announced[1..]), Err(WrongBytes::OtherDigest));

            let number = std::mem::replace(&mut sent[300], f32::NAN);
            let mut bytes = Vec::new();
            encoding.encode(&sent, &mut key.rounding(), &mut bytes);
            let collected = collect(&bytes, 100, &digest_of_bytes(&bytes));
            match encoding {
                Encoding::F32 => assert!(collected.unwrap()[300].is_nan(), "for the caller to refuse"),
                _ => assert_eq!(collected, Err(WrongBytes::NoNumber)),
            }
            sent[300] = number;
        }
    }

    #[test]
    fn memory_is_what_is_taken() {
        assert_eq!(Collector::memory_bytes(Encoding::F32, 1000), 4000);
        assert_eq!(Collector::memory_bytes(Encoding::Int8, 1000), 4000 + 1016);
        for (_, encoding) in Encoding::ALL {
            let mut collector = Collector::encoded(encoding, 1000);
            let bytes = vec![0; encoding.bytes(1000)];
            bytes.chunks(301).try_for_each(|chunk| collector.push(chunk)).unwrap();
            let taken = 4 * collector.numbers.capacity() + collector.pending.capacity();
            assert!(taken <= Collector::memory_bytes(encoding, 1000) + 4, "{encoding:?}");
        }
    }
}
