//! Random streams keyed by (run seed, purpose, round, device).
//!
//! A stream depends on its key alone: not on how many numbers others have drawn, nor on threads, nor on
//! the order of devices. So a resumed run needs no replay, and one device's draw can be looked at alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// What a stream is for; two purposes never share numbers. The values are part of the format of a run:
/// append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The coins of a round.
    Cohort = 1,
    /// Monte Carlo estimates of E[T̂]; the "round" is the number of the draw.
    RoundTime = 2,
    /// Common random numbers of the `sampled` scheme; the "round" is the number of the draw.
    CommonNumbers = 3,
    /// How many samples each device of a made-up fleet holds.
    FleetSamples = 4,
    /// How a model starts.
    ModelInit = 5,
    /// Which samples a device trains on in a round.
    Batches = 6,
    /// How a data set is split over devices.
    Partition = 7,
    /// Made-up data.
    SyntheticData = 8,
    /// How good a device's link is in a round.
    Fading = 9,
    /// How much longer or shorter than usual a device computes in a round.
    ComputeJitter = 10,
    /// Who vanishes in a round, and when.
    Dropout = 11,
    /// Which way an update's numbers are rounded on their way to the server.
    UpdateRounding = 12,
    /// Numbers for tests.
    Test = 1000,
}

/// Names a family of streams, one per device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// The seed of the whole run.
    pub seed: u64,
    /// What the numbers are for.
    pub purpose: Purpose,
    /// The round (or draw) they belong to.
    pub round: u64,
}

impl StreamKey {
    /// A generator for what belongs to the round as a whole.
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
