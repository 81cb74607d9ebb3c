//! When an agent connects again after a failure, and when it gives up.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::{Backoff, Waits};
use crate::error::NetError;

/// The failed attempts of an agent to reach its server.
pub(super) struct Attempts {
    waits: Waits,
    after_failure: Backoff,
    after_rival: Backoff,
    after_clocks: Backoff,
    /// None never gives up; zero is one attempt, with the time that any attempt has.
    give_up_after: Option<Duration>,
    /// The last time that the server answered, or the start.
    silent_since: Instant,
    pub(super) has_attended: bool,
}

impl Attempts {
    pub(super) fn new(waits: Waits, give_up_after: Option<Duration>) -> Self {
        Self {
            waits,
            after_failure: Backoff::default(),
            after_rival: Backoff::seldom(),
            after_clocks: Backoff::seldom(),
            give_up_after,
            silent_since: Instant::now(),
            has_attended: false,
        }
    }

    pub(super) fn answered(&mut self) {
        self.silent_since = Instant::now();
    }

    pub(super) fn attended(&mut self) {
        self.after_failure.worked();
        self.after_clocks.worked();
        self.has_attended = true;
    }

    /// Whether the time to reach the server is over.
    pub(super) fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// The wait before the next attempt, which ends with the time to reach the server.
    pub(super) fn wait_after(&mut self, error: &NetError) -> Duration {
        let backoff = match error {
            NetError::Superseded => &mut self.after_rival,
            NetError::ClocksDisagree { .. } => &mut self.after_clocks,
            _ => &mut self.after_failure,
        };
        let wait = self.waits.next(backoff);
        self.left().map_or(wait, |left| wait.min(left))
    }

    /// An attempt, with no more time than is left.
    pub(super) async fn bound<T>(
        &self,
        server: &str,
        attempt: impl Future<Output = Result<T, NetError>>,
    ) -> Result<T, NetError> {
        match self.left() {
            Some(left) if !left.is_zero() => tokio::time::timeout(left, attempt).await.unwrap_or_else(|_| {
                let problem = "it did not answer in time".to_owned();
                Err(NetError::Unreachable { server: server.to_owned(), problem })
            }),
            _ => attempt.await,
        }
    }

    fn left(&self) -> Option<Duration> {
        self.give_up_after.map(|after| after.saturating_sub(self.silent_since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(give_up_after: Option<Duration>) -> Attempts {
        Attempts::new(Waits::seeded(1), give_up_after)
    }

    #[tokio::test]
    async fn attempts_and_waits_end_with_the_time() {
        let mut tried = attempts(Some(Duration::from_millis(300)));
        let start = Instant::now();
        let wait = tried.wait_after(&NetError::Superseded);
        assert!(wait <= Duration::from_millis(300) && !tried.is_over());
        let never = std::future::pending::<Result<(), NetError>>();
        let error = tried.bound("a:1", never).await.unwrap_err();
        assert!(matches!(&error, NetError::Unreachable { server, .. } if server == "a:1"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(2) && tried.is_over());
        tried.answered();
        assert!(!tried.is_over());
        let mut for_ever = attempts(None);
        assert!(for_ever.wait_after(&NetError::Superseded) > Duration::from_secs(10) && !for_ever.is_over());
        // One attempt is made in any case.
        let once = attempts(Some(Duration::ZERO));
        assert!(once.bound("a:1", async { Ok(()) }).await.is_ok() && once.is_over());
    }
}
