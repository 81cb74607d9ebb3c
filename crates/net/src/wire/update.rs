//! An update in the making, in whichever way it is sent.

use fedflip_learn::Encoding;
use fedflip_learn::encoding::Undecodable;
use sha2::{Digest, Sha256};

use super::numbers::{Collector, VectorDigest, WrongBytes};

/// Why what a device sent is no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadUpdate {
    /// Not the bytes that were asked for, or announced.
    Bytes(WrongBytes),
    /// The bytes that were announced, which stand for no numbers.
    NoNumber,
}

/// An update of a known number of parameters, from chunks of any size.
#[derive(Debug)]
pub struct UpdateCollector {
    body: Body,
    parameters: usize,
}

#[derive(Debug)]
enum Body {
    /// Numbers as they come: there is no second copy of what is sent as it is.
    Numbers(Collector),
    /// Bytes until they are all there: a code means nothing without its block.
    Encoded { encoding: Encoding, bytes: Vec<u8>, hash: Sha256 },
}

impl UpdateCollector {
    /// Memory is taken at once, so that it can be counted before.
    pub fn new(encoding: Encoding, parameters: usize) -> Self {
        let body = match encoding {
            Encoding::F32 => Body::Numbers(Collector::new(parameters)),
            encoding => {
                let bytes = Vec::with_capacity(encoding.bytes(parameters));
                Body::Encoded { encoding, bytes, hash: Sha256::new() }
            }
        };
        Self { body, parameters }
    }

    /// What one takes, at most: the numbers, and the bytes that they are decoded from.
    pub fn memory_bytes(encoding: Encoding, parameters: usize) -> usize {
        let numbers = Encoding::F32.bytes(parameters);
        if encoding == Encoding::F32 { numbers } else { numbers + encoding.bytes(parameters) }
    }

    pub fn bytes(&self) -> usize {
        match &self.body {
            Body::Numbers(collector) => collector.bytes(),
            Body::Encoded { bytes, .. } => bytes.len(),
        }
    }

    pub fn push(&mut self, more: &[u8]) -> Result<(), WrongBytes> {
        match &mut self.body {
            Body::Numbers(collector) => collector.push(more),
            Body::Encoded { encoding, bytes, hash } => {
                if bytes.len() + more.len() > encoding.bytes(self.parameters) {
                    return Err(WrongBytes::TooMany);
                }
                hash.update(more);
                bytes.extend_from_slice(more);
                Ok(())
            }
        }
    }

    /// The update, if it is whole, the one that was announced, and made of numbers.
    pub fn finish(self, announced: &[u8]) -> Result<Vec<f32>, BadUpdate> {
        let (encoding, bytes, hash) = match self.body {
            Body::Numbers(collector) => {
                let numbers = collector.finish(announced).map_err(BadUpdate::Bytes)?;
                let finite = numbers.iter().all(|number| number.is_finite());
                return if finite { Ok(numbers) } else { Err(BadUpdate::NoNumber) };
            }
            Body::Encoded { encoding, bytes, hash } => (encoding, bytes, hash),
        };
        if bytes.len() < encoding.bytes(self.parameters) {
            return Err(BadUpdate::Bytes(WrongBytes::TooFew));
        }
        let found: VectorDigest = hash.finalize().into();
        if found != *announced {
            return Err(BadUpdate::Bytes(WrongBytes::OtherDigest));
        }
        let mut numbers = vec![0.0; self.parameters];
        match encoding.decode(&bytes, &mut numbers) {
            Ok(()) => Ok(numbers),
            Err(Undecodable::WrongLength { .. }) => Err(BadUpdate::Bytes(WrongBytes::TooFew)),
            Err(Undecodable::NoNumber) => Err(BadUpdate::NoNumber),
        }
    }
}

#[cfg(test)]
mod tests {
    use fedflip_learn::TrainKey;

    use super::super::numbers::digest_of_bytes;
    use super::*;

    #[test]
    fn chunks_of_any_size_make_the_same_update() {
        let mut sent: Vec<f32> = (0..600).map(|n| (n as f32).sin()).collect();
        let key = TrainKey::new(1, 2, 3);
        for (_, encoding) in Encoding::ALL {
            let mut bytes = Vec::new();
            encoding.encode(&sent, &mut key.rounding(), &mut bytes);
            let collect = |bytes: &[u8], chunk, announced: &[u8]| {
                let mut collector = UpdateCollector::new(encoding, 600);
                bytes.chunks(chunk).try_for_each(|chunk| collector.push(chunk)).map_err(BadUpdate::Bytes)?;
                assert_eq!(collector.bytes(), bytes.len());
                collector.finish(announced)
            };
            let announced = digest_of_bytes(&bytes);
            let mut there = sent.clone();
            encoding.round_trip(&mut there, &mut key.rounding());
            for chunk in [1, 7, 256, 5000] {
                assert_eq!(collect(&bytes, chunk, &announced), Ok(there.clone()));
            }
            let refused = |wrong| Err(BadUpdate::Bytes(wrong));
            assert_eq!(collect(&bytes[1..], 100, &announced), refused(WrongBytes::TooFew));
            assert_eq!(collect(&[&bytes[..], &[0]].concat(), 100, &announced), refused(WrongBytes::TooMany));
            assert_eq!(collect(&bytes, 100, &announced[1..]), refused(WrongBytes::OtherDigest));

            let number = std::mem::replace(&mut sent[300], f32::NAN);
            let mut bytes = Vec::new();
            encoding.encode(&sent, &mut key.rounding(), &mut bytes);
            assert_eq!(collect(&bytes, 100, &digest_of_bytes(&bytes)), Err(BadUpdate::NoNumber));
            sent[300] = number;
        }
    }

    #[test]
    fn memory_is_what_is_taken() {
        assert_eq!(UpdateCollector::memory_bytes(Encoding::F32, 1000), 4000);
        assert_eq!(UpdateCollector::memory_bytes(Encoding::Int8, 1000), 4000 + 1016);
    }
}
