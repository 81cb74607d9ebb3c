//! A token bucket, which limits the actions of a peer in a row and on average.

use std::time::Duration;

use tokio::time::Instant;

/// The size of a bucket, and the rate at which it fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Tokens of a full bucket.
    pub in_a_row: f64,
    /// Tokens that come back in a second.
    pub per_sec: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    /// Below zero for a peer that owes tokens and has to wait.
    left: f64,
    filled: Option<Instant>,
}

impl Bucket {
    pub(crate) fn full(rate: Rate) -> Self {
        Self { rate, left: rate.in_a_row, filled: None }
    }

    /// Gives tokens for actions that the server asked for.
    pub(crate) fn grant(&mut self, tokens: f64) {
        self.left = (self.left + tokens).min(self.rate.in_a_row);
    }

    /// Takes a token. Returns false if there is none.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }

    /// Takes tokens for past actions, also if the bucket has too few.
    pub(crate) fn spend(&mut self, tokens: f64, now: Instant) {
        self.fill(now);
        self.left -= tokens;
    }

    /// The time until no token is owed.
    pub(crate) fn debt(&mut self, now: Instant) -> Duration {
        self.fill(now);
        Duration::try_from_secs_f64((-self.left).max(0.0) / self.rate.per_sec).unwrap_or(Duration::MAX)
    }

    /// Whether the bucket equals a new one.
    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.left >= self.rate.in_a_row
    }

    fn fill(&mut self, now: Instant) {
        let secs = self.filled.map_or(0.0, |filled| now.saturating_duration_since(filled).as_secs_f64());
        self.grant(secs * self.rate.per_sec);
        self.filled = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { in_a_row: 64.0, per_sec: 32.0 };

    #[test]
    fn a_burst_and_then_the_average() {
        let mut bucket = Bucket::full(RATE);
        let start = Instant::now();
        let burst = (0..1000).filter(|_| bucket.take(start)).count();
        assert_eq!(burst as f64, RATE.in_a_row);
        let later = start + Duration::from_secs(1);
        let second = (0..1000).filter(|_| bucket.take(later)).count();
        assert_eq!(second as f64, RATE.per_sec);
        bucket.grant(3.0);
        assert_eq!((0..1000).filter(|_| bucket.take(later)).count(), 3);
        let much_later = start + Duration::from_secs(1000);
        assert!(bucket.is_full(much_later));
        assert_eq!((0..1000).filter(|_| bucket.take(much_later)).count() as f64, RATE.in_a_row);
        assert!(!bucket.is_full(much_later));
    }

    #[test]
    fn whoever_does_too_much_waits_until_it_is_paid() {
        let mut bucket = Bucket::full(RATE);
        let start = Instant::now();
        bucket.spend(64.0, start);
        assert_eq!(bucket.debt(start), Duration::ZERO);
        bucket.spend(96.0, start);
        assert_eq!(bucket.debt(start), Duration::from_secs(3));
        assert_eq!(bucket.debt(start + Duration::from_secs(2)), Duration::from_secs(1));
        assert_eq!(bucket.debt(start + Duration::from_secs(3)), Duration::ZERO);
    }
}
