//! Watches the files, and cuts off devices that may no longer stay.

use std::path::PathBuf;
use std::sync::Arc;

use rustls_pki_types::UnixTime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_rustls::rustls::ServerConfig;
use tracing::{info, warn};

use super::registry::Registry;
use super::server_tls::{self, ServerTls, Stamp};
use crate::error::NetError;

/// Watches the files from this state on, until the returned set is dropped; the configuration is always the latest.
pub(super) fn watch_files(
    folder: PathBuf,
    stamp: Stamp,
    config: Arc<ServerConfig>,
    registry: Arc<Registry>,
) -> (JoinSet<()>, watch::Receiver<Arc<ServerConfig>>) {
    let (sender, receiver) = watch::channel(config);
    let mut task = JoinSet::new();
    task.spawn(run(folder, stamp, sender, registry));
    (task, receiver)
}

async fn run(
    folder: PathBuf,
    mut stamp: Stamp,
    config: watch::Sender<Arc<ServerConfig>>,
    registry: Arc<Registry>,
) {
    let mut looks = tokio::time::interval(registry.limits.look_every);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let place = folder.clone();
        // Files may be on a slow disk, and a long list takes a moment to read.
        let look = tokio::task::spawn_blocking(move || changed(&place, stamp));
        if let Ok(Some((now, loaded))) = look.await {
            // Also if the files are bad: the log complains about the same files only once.
            stamp = now;
            match loaded {
                Ok(ServerTls { config: new, revoked }) => {
                    // New connections first, so that no revoked device is admitted by the old list and stays.
                    config.send_replace(new);
                    let cut = registry.revoke(revoked);
                    info!(folder = %folder.display(), cut, "certificates were read again");
                }
                Err(error) => {
                    warn!(%error, hint = error.hint(), "the certificates have changed and are no good; the old are kept");
                }
            }
        }
        let cut = registry.expire(i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX));
        if cut > 0 {
            info!(cut, "certificates have expired");
        }
    }
}

/// The new files; none if nothing has changed.
fn changed(folder: &std::path::Path, before: Stamp) -> Option<(Stamp, Result<ServerTls, NetError>)> {
    let now = server_tls::stamp(folder);
    (now != before).then(|| (now, server_tls::load(folder)))
}
