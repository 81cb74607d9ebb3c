//! Where a run can continue from, as bytes that show any damage.
//!
//! A line of JSON, then the numbers of the vectors, little-endian, one vector after the other, then the
//! CRC-32 of all that. Not safetensors: nobody but the run itself reads it, and the sum must cover all.

use fedflip_fleet::Metrics;
use serde::{Deserialize, Serialize};

/// The state of a run between two rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The number of rounds that are done.
    pub round: u64,
    /// The virtual time in seconds.
    pub secs: f64,
    /// The metrics of the model, if it was evaluated.
    pub evaluated: Option<Metrics>,
    /// How far the records had come, and the CRC-32 of that much of them.
    pub records: Mark,
    /// The model, and what else the server remembers.
    pub vectors: Vec<Vec<f32>>,
}

/// A place in a file, and the sum of what is before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The length of the records at the checkpoint, in bytes.
    pub bytes: u64,
    /// CRC-32 of these bytes.
    pub crc: u32,
}

#[derive(Serialize, Deserialize)]
struct Head {
    fedflip_checkpoint: u32,
    round: u64,
    secs: f64,
    evaluated: Option<Metrics>,
    records: Mark,
    lens: Vec<usize>,
}

const VERSION: u32 = 2;
const CRC_LEN: usize = 4;

impl Checkpoint {
    /// The bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            fedflip_checkpoint: VERSION,
            round: self.round,
            secs: self.secs,
            evaluated: self.evaluated.clone(),
            records: self.records,
            lens: self.vectors.iter().map(Vec::len).collect(),
        };
        let numbers: usize = head.lens.iter().sum();
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.reserve_exact(1 + 4 * numbers + CRC_LEN);
        bytes.push(b'\n');
        for number in self.vectors.iter().flatten() {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Whether all vectors belong to a model with this number of parameters.
    pub fn fits(&self, parameters: usize) -> bool {
        !self.vectors.is_empty() && self.vectors.iter().all(|vector| vector.len() == parameters)
    }

    /// The checkpoint of a file, or nothing if it is damaged, cut short or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, crc) = bytes.split_last_chunk::<CRC_LEN>()?;
        if crc32fast::hash(content).to_le_bytes() != *crc {
            return None;
        }
        let line = content.iter().position(|&byte| byte == b'\n')?;
        let head: Head = serde_json::from_slice(&content[..line]).ok()?;
        let mut numbers = content[line + 1..].chunks_exact(4);
        let wanted = head.lens.iter().try_fold(0_usize, |sum, &len| sum.checked_add(len))?;
        if head.fedflip_checkpoint != VERSION || numbers.len() != wanted {
            return None;
        }
        let mut vector = |len: usize| -> Vec<f32> {
            numbers
                .by_ref()
                .take(len)
                .map(|number| f32::from_le_bytes(number.try_into().unwrap_or_default()))
                .collect()
        };
        let vectors = head.lens.iter().map(|&len| vector(len)).collect();
        let Head { round, secs, evaluated, records, .. } = head;
        Some(Self { round, secs, evaluated, records, vectors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        Checkpoint {
            round: 7,
            secs: 0.1 + 0.2,
            evaluated: Some(Metrics::from([("accuracy", 0.25), ("loss", 1.5)])),
            records: Mark { bytes: 99, crc: 5 },
            vectors: vec![vec![1.0, f32::MIN_POSITIVE, -0.0], vec![], vec![3.5]],
        }
    }

    #[test]
    fn there_and_back() {
        assert_eq!(Checkpoint::from_bytes(&checkpoint().to_bytes()), Some(checkpoint()));
    }

    /// A run that continues must not differ in the last bit from one that was never interrupted.
    #[test]
    fn times_come_back_to_the_last_bit() {
        for n in 1..=1000_u32 {
            let secs = 57_871.409_318_936_596 / f64::from(n);
            let evaluated = Some(Metrics::from([("loss", 1.0 / secs), ("accuracy", secs)]));
            let bytes = Checkpoint { secs, evaluated: evaluated.clone(), ..checkpoint() }.to_bytes();
            let back = Checkpoint::from_bytes(&bytes).unwrap();
            assert_eq!((back.secs, back.evaluated), (secs, evaluated));
        }
    }

    #[test]
    fn any_damage_shows() {
        let bytes = checkpoint().to_bytes();
        for len in 0..bytes.len() {
            assert_eq!(Checkpoint::from_bytes(&bytes[..len]), None, "cut to {len}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Checkpoint::from_bytes(&damaged), None, "damaged at {at}");
        }
    }
}
