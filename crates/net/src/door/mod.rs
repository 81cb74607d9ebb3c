//! The listener of the server, and the credentials that devices show it.
//!
//! A peer is known by its certificate before the first byte of any request is read. The listener is our own because it
//! must obey a list of revoked certificates while the server runs: a revoked device is cut off within seconds, and a
//! renewed certificate of the server needs no restart.
//!
//! # Layout
//!
//! - [`device_certificate`]: the device in a certificate.
//! - `server_tls`: the server's files, and its TLS configuration.
//! - `files`: reads certificates and keys, and checks them.
//! - `watch`: watches the files, and cuts off devices that may no longer stay.
//! - `registry`: the connections and their limit; `descriptors`: the system's limit; `waiting`: the handshakes in
//!   progress, and which of them gives way.
//! - `reception`: accepts connections and authenticates peers.
//! - [`connection`]: an accepted connection; `meter`: limits its frames.
//! - [`credentials`]: the files of a device.

pub mod connection;
pub mod credentials;
mod descriptors;
pub mod device_certificate;
mod files;
mod meter;
mod reception;
mod registry;
mod server_tls;
mod waiting;
mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use connection::{Connection, Peer};
pub use credentials::{Credentials, DeviceTls, client_config};
pub use device_certificate::Caller;
pub use registry::RevokedNames;
pub use server_tls::SERVER_FILES;

use crate::error::NetError;
use crate::status::Metrics;
use reception::Greeting;
use registry::Registry;
use server_tls::ServerTls;
use watch::Watched;

/// A certificate that is valid for less than this time is due for renewal, and the log says so.
pub const EXPIRES_SOON_SECS: i64 = 30 * 86_400;

/// Connections that the system queues until they are accepted; it may have a lower limit.
const BACKLOG: i32 = 4096;

/// The least time for a handshake: two round trips over a satellite, and a moment for a slow device to compute.
const HANDSHAKE_WITHIN_MIN: Duration = Duration::from_secs(3);

/// How server and devices prove who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Both sides have certificates; the server's are in a folder of the authority.
    MutualTls {
        /// With `ca.pem`, `revoked.pem`, `server/cert.pem` and `server/key.pem`.
        certs_folder: PathBuf,
    },
    /// Peers are not authenticated: on this machine only.
    Plain,
}

/// The limits of connections and handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All connections, including handshakes in progress.
    pub connections_max: usize,
    /// Connections of one device: a new one may start while an old one dies. One more cuts the oldest.
    pub per_device_max: usize,
    /// Handshakes at the same time. One more cuts the oldest of the most crowded address block.
    pub handshakes_max: usize,
    /// The time for a handshake while there are no others; it shrinks with the number of free places.
    pub handshake_within: Duration,
    /// The time from the handshake to the first call.
    pub first_call_within: Duration,
    /// The files are checked this often.
    pub look_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            per_device_max: 2,
            handshakes_max: 2048,
            handshake_within: Duration::from_secs(10),
            first_call_within: Duration::from_secs(30),
            look_every: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// The default limits, with no more connections than this process may hold; its limit on open files is raised as far as
    /// possible. Then the server refuses a connection too many itself, before the system runs out of descriptors.
    pub fn of_this_process() -> Self {
        let usual = Self::default();
        let fit = descriptors::raise().unwrap_or(usize::MAX);
        Self { connections_max: usual.connections_max.min(fit), ..usual }
    }

    /// The time for one more handshake while `asked` others are in progress.
    fn handshake_within(&self, asked: usize) -> Duration {
        let free = self.handshakes_max.saturating_sub(asked) as f64 / self.handshakes_max.max(1) as f64;
        self.handshake_within.mul_f64(free).max(HANDSHAKE_WITHIN_MIN).min(self.handshake_within)
    }
}

/// A listener that checks who connects.
pub struct Door {
    address: SocketAddr,
    listener: TcpListener,
    greeting: Greeting,
    registry: Arc<Registry>,
    handshakes: JoinSet<Option<Connection>>,
    /// Until then nothing is accepted.
    pause_until: Option<Instant>,
    /// The task that watches the files ends with the door.
    _watch: JoinSet<()>,
}

impl Door {
    /// Reads the certificates and listens. Peers wait until the stream is polled.
    ///
    /// It is async because it must be called on the runtime that will serve.
    pub async fn open(
        address: SocketAddr,
        security: Security,
        limits: Limits,
        metrics: Arc<Metrics>,
    ) -> Result<Self, NetError> {
        let registry = Arc::new(Registry::new(limits, metrics));
        // Certificates before the port: a server that cannot admit any device should not listen.
        let (greeting, watch) = match security {
            Security::Plain if !address.ip().is_loopback() => return Err(NetError::PlainText { address }),
            Security::Plain => (Greeting::Plain, JoinSet::new()),
            Security::MutualTls { certs_folder } => {
                let stamp = server_tls::stamp(&certs_folder);
                let ServerTls { config, revoked, revoked_names, not_after_unix_secs } =
                    server_tls::load(&certs_folder)?;
                registry.revoke(revoked);
                registry.revoked_names.add(revoked_names);
                let watched = Watched { folder: certs_folder, stamp, not_after_unix_secs };
                let (watch, config) = watch::watch_files(watched, config, Arc::clone(&registry));
                (Greeting::Tls(config), watch)
            }
        };
        let listener = listen(address).map_err(|source| NetError::Listen { address, source })?;
        let address = listener.local_addr().map_err(|source| NetError::Listen { address, source })?;
        let handshakes = JoinSet::new();
        Ok(Self { address, listener, greeting, registry, handshakes, pause_until: None, _watch: watch })
    }

    /// The address with the real port, also where port 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The names of revoked devices; more may be added while the door is open.
    pub fn revoked_names(&self) -> Arc<RevokedNames> {
        Arc::clone(&self.registry.revoked_names)
    }

    /// The accepted connections. The stream never ends and never fails; when it is dropped, the door no longer listens, and
    /// accepted connections stay.
    pub fn into_stream(self) -> impl Stream<Item = Result<Connection, std::io::Error>> + Send {
        unfold(self, async |mut door| {
            let connection = door.next().await;
            Some((Ok(connection), door))
        })
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A killed server must be able to restart at once.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewer_places_are_free_the_less_time_there_is_to_say_who_one_is() {
        let limits = Limits { handshakes_max: 100, ..Limits::default() };
        let secs = [0, 50, 90, 100, 200].map(|asked| limits.handshake_within(asked).as_secs_f64());
        assert_eq!(secs, [10.0, 5.0, 3.0, 3.0, 3.0]);
        let brief = Limits { handshake_within: Duration::from_secs(1), ..limits };
        assert_eq!(brief.handshake_within(100), Duration::from_secs(1));
    }
}
