//! How long an agent tries to reach a server that does not answer.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::NetError;

/// Counts from the last time that the server answered, or from the start.
pub(super) struct GiveUp {
    after: Option<Duration>,
    silent_since: Instant,
}

impl GiveUp {
    /// None never gives up; zero is one attempt, with the time that any has.
    pub(super) fn new(after: Option<Duration>) -> Self {
        Self { after, silent_since: Instant::now() }
    }

    pub(super) fn answered(&mut self) {
        self.silent_since = Instant::now();
    }

    pub(super) fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// A wait, or what is left of the time.
    pub(super) fn cut(&self, wait: Duration) -> Duration {
        self.left().map_or(wait, |left| wait.min(left))
    }

    /// An attempt, with no more time than is left.
    pub(super) async fn bound<T>(
        &self,
        server: &str,
        attempt: impl Future<Output = Result<T, NetError>>,
    ) -> Result<T, NetError> {
        match self.left() {
            Some(left) if !left.is_zero() => match tokio::time::timeout(left, attempt).await {
                Ok(ended) => ended,
                Err(_) => {
                    let problem = "it does not answer, and the time to wait for it is over".to_owned();
                    Err(NetError::Unreachable { server: server.to_owned(), problem })
                }
            },
            _ => attempt.await,
        }
    }

    fn left(&self) -> Option<Duration> {
        self.after.map(|after| after.saturating_sub(self.silent_since.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn attempts_and_waits_end_with_the_time() {
        let mut give_up = GiveUp::new(Some(Duration::from_millis(300)));
        let start = Instant::now();
        assert!(give_up.cut(Duration::from_secs(60)) <= Duration::from_millis(300) && !give_up.is_over());
        let never = std::future::pending::<Result<(), NetError>>();
        let error = give_up.bound("a:1", never).await.unwrap_err();
        assert!(matches!(&error, NetError::Unreachable { server, .. } if server == "a:1"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(2) && give_up.is_over());
        give_up.answered();
        assert!(!give_up.is_over());
        let for_ever = GiveUp::new(None);
        assert_eq!((for_ever.cut(Duration::MAX), for_ever.is_over()), (Duration::MAX, false));
        // One attempt is made in any case.
        let once = GiveUp::new(Some(Duration::ZERO));
        assert!(once.bound("a:1", async { Ok(()) }).await.is_ok() && once.is_over());
    }
}
