//! Random streams keyed by (run seed, purpose, round, device).
//!
//! A stream depends on its key alone: not on the numbers that other streams have drawn, nor on threads, nor on the
//! order of devices. A resumed run therefore replays nothing, and the draw of one device can be repeated alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The use of a stream. Two purposes never share numbers. The values are part of the format of a run: append new ones,
/// and never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The coins of a round, which draw its cohort.
    Cohort = 1,
    /// Monte Carlo estimates of E[T̂]; the "round" is the number of the draw.
    RoundTime = 2,
    /// Common random numbers of the `sampled` scheme; the "round" is the number of the draw.
    CommonNumbers = 3,
    /// The number of samples that each device of a generated fleet holds.
    FleetSamples = 4,
    /// The parameters of the first model.
    ModelInit = 5,
    /// The samples on which a device trains in a round.
    Batches = 6,
    /// The split of a data set over devices.
    Partition = 7,
    /// The samples of the synthetic task.
    SyntheticData = 8,
    /// The quality of a device's link in a round.
    Fading = 9,
    /// The factor by which a device computes longer or shorter than usual in a round.
    ComputeJitter = 10,
    /// The devices that vanish in a round, and the time at which they do.
    Dropout = 11,
    /// The rounding of an update's numbers, up or down, when the update is encoded.
    UpdateRounding = 12,
    /// The training samples that are held out for validation.
    Validation = 13,
    /// The rounding of the model's numbers, up or down, when the model is encoded for its download.
    ModelRounding = 14,
    /// The signal of each device of a generated fleet.
    FleetLinks = 15,
    /// Random numbers for tests only.
    Test = 1000,
}

/// Names a family of streams, one per device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// The seed of the whole run.
    pub seed: u64,
    /// The use of the numbers.
    pub purpose: Purpose,
    /// The round, or the draw of a Monte Carlo estimate.
    pub round: u64,
}

impl StreamKey {
    /// The generator for draws that belong to no single device.
    pub fn shared(self) -> ChaCha8Rng {
        self.device(u64::MAX)
    }

    /// The generator of one device.
    pub fn device(self, device: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(self.purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&self.round.to_le_bytes());
        key[24..].copy_from_slice(b"fedflip1");
        let mut stream = ChaCha8Rng::from_seed(key);
        stream.set_stream(device);
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn first(seed: u64, purpose: Purpose, round: u64, device: u64) -> u64 {
        StreamKey { seed, purpose, round }.device(device).random()
    }

    #[test]
    fn every_part_of_the_key_matters() {
        let base = first(7, Purpose::Cohort, 3, 5);
        assert_eq!(base, first(7, Purpose::Cohort, 3, 5));
        assert_ne!(base, first(8, Purpose::Cohort, 3, 5));
        assert_ne!(base, first(7, Purpose::RoundTime, 3, 5));
        assert_ne!(base, first(7, Purpose::Cohort, 4, 5));
        assert_ne!(base, first(7, Purpose::Cohort, 3, 6));
    }

    /// A changed value here changes every run ever recorded: it takes a new version of the run format.
    #[test]
    fn the_streams_are_pinned() {
        assert_eq!(first(7, Purpose::Cohort, 3, 5), 17_395_180_385_558_662_255);
    }
}
