//! How many calls a device may make: a bucket that fills by itself.

use tokio::time::Instant;

use crate::wire::limits::{CALLS_IN_A_ROW_MAX, CALLS_PER_SEC_MAX};

/// What a device has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    left: f64,
    filled: Option<Instant>,
}

impl Bucket {
    pub(crate) fn full() -> Self {
        Self { left: CALLS_IN_A_ROW_MAX, filled: None }
    }

    /// When the last call came.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.filled
    }

    /// The server asks for these calls itself: they cost nothing, however fast its rounds are.
    pub(crate) fn grant(&mut self, calls: f64) {
        self.left = (self.left + calls).min(CALLS_IN_A_ROW_MAX);
    }

    /// Whether one more call is allowed; if so it counts.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        if let Some(filled) = self.filled {
            let secs = now.saturating_duration_since(filled).as_secs_f64();
            self.left = (self.left + secs * CALLS_PER_SEC_MAX).min(CALLS_IN_A_ROW_MAX);
        }
        self.filled = Some(now);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_and_then_the_average() {
        let mut bucket = Bucket::full();
        let start = Instant::now();
        let burst = (0..1000).filter(|_| bucket.take(start)).count();
        assert_eq!(burst as f64, CALLS_IN_A_ROW_MAX);
        let later = start + Duration::from_secs(1);
        let second = (0..1000).filter(|_| bucket.take(later)).count();
        assert_eq!(second as f64, CALLS_PER_SEC_MAX);
        bucket.grant(3.0);
        assert_eq!((0..1000).filter(|_| bucket.take(later)).count(), 3);
        let much_later = start + Duration::from_secs(1000);
        assert_eq!((0..1000).filter(|_| bucket.take(much_later)).count() as f64, CALLS_IN_A_ROW_MAX);
    }
}
