//! Watches the files, and cuts off devices that may no longer stay.

use std::path::PathBuf;
use std::sync::Arc;

use rustls_pki_types::UnixTime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_rustls::rustls::ServerConfig;
use tracing::{info, warn};

use super::EXPIRES_SOON_SECS;
use super::registry::Registry;
use super::server_tls::{self, ServerTls, Stamp};
use crate::error::NetError;

const DAY_SECS: i64 = 86_400;
/// A line of the log names at most this many devices.
const NAMED_MAX: usize = 5;

/// The files as they were read last.
pub(super) struct Watched {
    pub(super) folder: PathBuf,
    pub(super) stamp: Stamp,
    /// The last second of the server's certificate.
    pub(super) not_after_unix_secs: i64,
}

/// Watches the files from this state on, until the returned set is dropped; the configuration is always the latest.
pub(super) fn watch_files(
    watched: Watched,
    config: Arc<ServerConfig>,
    registry: Arc<Registry>,
) -> (JoinSet<()>, watch::Receiver<Arc<ServerConfig>>) {
    let (sender, receiver) = watch::channel(config);
    let mut task = JoinSet::new();
    task.spawn(run(watched, sender, registry));
    (task, receiver)
}

async fn run(mut watched: Watched, config: watch::Sender<Arc<ServerConfig>>, registry: Arc<Registry>) {
    let mut looks = tokio::time::interval(registry.limits.look_every);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told_unix_secs = None;
    loop {
        looks.tick().await;
        let (place, stamp) = (watched.folder.clone(), watched.stamp);
        // Files may be on a slow disk, and a long list takes a moment to read.
        let look = tokio::task::spawn_blocking(move || changed(&place, stamp));
        if let Ok(Some((now, loaded))) = look.await {
            // Also if the files are bad: the log complains about the same files only once.
            watched.stamp = now;
            match loaded {
                Ok(ServerTls { config: new, revoked, revoked_names, not_after_unix_secs }) => {
                    // New connections first, so that no revoked device is admitted by the old list and stays.
                    config.send_replace(new);
                    let cut = registry.revoke(revoked);
                    registry.revoked_names.add(revoked_names);
                    (watched.not_after_unix_secs, told_unix_secs) = (not_after_unix_secs, None);
                    info!(folder = %watched.folder.display(), cut, "certificates were read again");
                }
                Err(error) => {
                    warn!(%error, hint = error.hint(), "the changed certificates cannot be used; the old ones stay in use");
                }
            }
        }
        let now_unix_secs = i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX);
        let cut = registry.expire(now_unix_secs);
        if cut > 0 {
            info!(cut, "certificates have expired");
        }
        warn_of_expiry(&watched, &registry, &mut told_unix_secs, now_unix_secs);
    }
}

/// Says once a day which certificates are about to expire.
fn warn_of_expiry(watched: &Watched, registry: &Registry, told: &mut Option<i64>, now_unix_secs: i64) {
    let until = watched.not_after_unix_secs;
    registry.metrics().server_certificate_until.set(until as f64);
    let left_secs = until.saturating_sub(now_unix_secs);
    let is_told = told.is_some_and(|told| now_unix_secs.saturating_sub(told) < DAY_SECS);
    if left_secs < EXPIRES_SOON_SECS && !is_told {
        *told = Some(now_unix_secs);
        warn!(days = left_secs.max(0) / DAY_SECS, "the server's certificate expires soon: renew it");
    }
    let expiring = registry.expiring(now_unix_secs);
    if !expiring.is_empty() {
        let names = expiring[..expiring.len().min(NAMED_MAX)].join(", ");
        warn!(devices = expiring.len(), names, "certificates of devices expire soon: renew them");
    }
}

/// The new files; none if nothing has changed.
fn changed(folder: &std::path::Path, before: Stamp) -> Option<(Stamp, Result<ServerTls, NetError>)> {
    let now = server_tls::stamp(folder);
    (now != before).then(|| (now, server_tls::load(folder)))
}
