//! The wait before the next attempt: longer each time, and never the same for all devices.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);
/// For failures that a person has to mend.
const FIRST_SELDOM: Duration = Duration::from_secs(60);
const LONGEST_SELDOM: Duration = Duration::from_secs(900);

#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    attempts: u32,
    first: Duration,
    longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { attempts: 0, first: FIRST, longest: LONGEST }
    }
}

impl Backoff {
    /// For an agent that shares its identity with another one, which it disconnects whenever it returns; or whose
    /// certificate is valid by its own clock and not by the server's.
    pub fn seldom() -> Self {
        Self { attempts: 0, first: FIRST_SELDOM, longest: LONGEST_SELDOM }
    }

    /// Notes a success: the next failure counts as the first one.
    pub fn worked(&mut self) {
        self.attempts = 0;
    }

    /// The next wait: uniform up to a bound that doubles, so that a thousand devices that lost the same server do not
    /// return at the same moment.
    pub fn next(&mut self, random: &mut impl rand::Rng) -> Duration {
        let bound = self.first.saturating_mul(1 << self.attempts.min(16)).min(self.longest);
        self.attempts = self.attempts.saturating_add(1);
        bound.mul_f64(random.random_range(0.25..1.0))
    }
}

/// The random numbers of one agent's waits, which no two devices may share. All tasks of the agent draw from them.
#[derive(Clone, Debug)]
pub(super) struct Waits(Arc<Mutex<ChaCha8Rng>>);

impl Waits {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    pub(super) fn next(&self, backoff: &mut Backoff) -> Duration {
        backoff.next(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Purpose, StreamKey};

    use super::*;

    #[test]
    fn longer_each_time_and_spread_out() {
        let mut random = StreamKey { seed: 1, purpose: Purpose::Test, round: 0 }.shared();
        let mut backoff = Backoff::default();
        let waits: Vec<Duration> = (0..40).map(|_| backoff.next(&mut random)).collect();
        assert!(waits[0] < FIRST && waits.iter().all(|wait| *wait <= LONGEST));
        assert!(waits[20..].iter().any(|wait| *wait > LONGEST / 2), "it grows to the longest");
        assert!(waits[20..].windows(2).any(|pair| pair[0] != pair[1]), "and is spread");
        backoff.worked();
        assert!(backoff.next(&mut random) < FIRST);
    }
}
