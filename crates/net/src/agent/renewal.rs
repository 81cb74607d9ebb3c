//! An identity whose certificate may be renewed while the agent runs.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tracing::{info, warn};

use super::now_unix_secs;
use crate::door::{Credentials, EXPIRES_SOON_SECS};

/// The agent looks at its files this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const DAY_SECS: i64 = 86_400;

pub(super) struct RenewableIdentity {
    pub credentials: Credentials,
    warned_unix_secs: AtomicI64,
}

impl RenewableIdentity {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self { credentials, warned_unix_secs: AtomicI64::new(i64::MIN) }
    }

    pub(super) fn valid_until_unix_secs(&self) -> Option<i64> {
        self.credentials.tls.as_ref().map(|tls| tls.valid_until_unix_secs)
    }

    /// Takes up a renewed certificate; returns false if there is none.
    pub(super) fn take_up(&mut self) -> bool {
        let Some(renewed) = self.credentials.renewed() else { return false };
        self.credentials = renewed;
        info!(valid_until_unix_secs = self.valid_until_unix_secs(), "the certificate was renewed");
        true
    }

    /// Resolves when there is a renewed certificate. Until then the log says once a day that the present one is about to
    /// expire.
    pub(super) async fn renewed(&self) {
        loop {
            self.warn_of_expiry(now_unix_secs());
            tokio::time::sleep(LOOK_EVERY).await;
            if self.credentials.renewed().is_some() {
                return;
            }
        }
    }

    fn warn_of_expiry(&self, now_unix_secs: i64) {
        let Some(until) = self.valid_until_unix_secs() else { return };
        let left_secs = until.saturating_sub(now_unix_secs);
        let told = self.warned_unix_secs.load(Ordering::Relaxed);
        if left_secs < EXPIRES_SOON_SECS && now_unix_secs.saturating_sub(told) >= DAY_SECS {
            self.warned_unix_secs.store(now_unix_secs, Ordering::Relaxed);
            let days = left_secs.max(0) / DAY_SECS;
            warn!(
                days,
                "this device's certificate expires soon: ask whoever runs the server for a renewed cert.pem"
            );
        }
    }
}
