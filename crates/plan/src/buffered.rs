//! Devices that work without rounds, and a server that steps whenever enough updates are in its buffer.

use crate::error::PlanError;
use crate::parameter::CohortSize;

/// How many devices work at a time, and how many updates make a step of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffered {
    updates: usize,
    concurrency: usize,
}

impl Buffered {
    /// How many times K devices work at a time, if nobody says otherwise.
    pub const CONCURRENCY_PER_UPDATE: usize = 2;

    /// K updates per step; without a concurrency, twice as many devices work as a step takes, or all of them.
    pub fn new(updates: CohortSize, concurrency: Option<usize>, devices: usize) -> Result<Self, PlanError> {
        let updates = updates.get();
        if updates > devices {
            return Err(PlanError::BufferTooLarge { updates, devices });
        }
        let usual = || updates.saturating_mul(Self::CONCURRENCY_PER_UPDATE).min(devices);
        let concurrency = concurrency.unwrap_or_else(usual);
        if !(1..=devices).contains(&concurrency) {
            return Err(PlanError::BadConcurrency { concurrency, devices });
        }
        Ok(Self { updates, concurrency })
    }

    /// K: the updates of a step.
    pub fn updates(self) -> usize {
        self.updates
    }

    /// The number of devices that work at a time.
    pub fn concurrency(self) -> usize {
        self.concurrency
    }

    /// s(lag)/K with s = 1/√(1 + lag): the factor of an update whose model is `lag` steps old.
    pub fn weight(self, lag: u64) -> f64 {
        1.0 / ((1.0 + lag as f64).sqrt() * self.updates as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffered(updates: usize, concurrency: Option<usize>, devices: usize) -> Result<Buffered, PlanError> {
        Buffered::new(CohortSize::new(updates).unwrap(), concurrency, devices)
    }

    #[test]
    fn stale_updates_count_less() {
        let ten = buffered(10, None, 100).unwrap();
        assert_eq!((ten.updates(), ten.concurrency()), (10, 20));
        assert_eq!([0, 3, 8].map(|lag| ten.weight(lag)), [0.1, 0.05, 1.0 / 30.0]);
    }

    #[test]
    fn numbers_beyond_the_fleet_are_refused() {
        assert_eq!(buffered(7, None, 9).unwrap().concurrency(), 9, "not more than there are");
        assert_eq!(buffered(9, Some(9), 9).unwrap().concurrency(), 9);
        let too_many = PlanError::BufferTooLarge { updates: 10, devices: 9 };
        assert_eq!(buffered(10, None, 9), Err(too_many));
        for concurrency in [0, 10] {
            let refused = Err(PlanError::BadConcurrency { concurrency, devices: 9 });
            assert_eq!(buffered(3, Some(concurrency), 9), refused);
        }
    }
}
