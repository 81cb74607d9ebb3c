//! Who may come in: the listener of the server, and what a device shows at it.
//!
//! A peer is known by its certificate before the first byte of any request is read. The door is ours because a
//! list of revoked certificates must be obeyed, and be obeyed while the server runs: a device that is revoked
//! is cut off within seconds, and a renewed certificate of the server needs no restart.
//!
//! # Layout
//!
//! - [`device_certificate`]: what a certificate says of its device.
//! - `server_tls`: the server's files, and its TLS configuration.
//! - `files`: certificates and keys in files, and whether they are fit for use.
//! - `watch`: looks at the files again and again, and cuts whoever may no longer stay.
//! - `registry`: who is in, and how many may be; `descriptors`: how many the system allows; `waiting`: who gives
//!   way among those who have not said who they are.
//! - `reception`: accepts, and asks everybody who they are.
//! - [`connection`]: one that was let in; `meter`: how much it may make us read.
//! - [`credentials`]: a device's side: its files, ready for a connection.

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

use crate::error::NetError;
use crate::status::Metrics;
use reception::Greeting;
use registry::Registry;
use server_tls::ServerTls;

/// Connections that the system holds for us until we accept them; it may have a lower limit of its own.
const BACKLOG: i32 = 4096;

/// However many are asked who they are: twice to a satellite and back, and a moment for a slow device to think.
const HANDSHAKE_WITHIN_MIN: Duration = Duration::from_secs(3);

/// How peers prove who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Both sides have certificates; the server's are in this folder of an authority.
    MutualTls {
        /// With `ca.pem`, `revoked.pem`, `server/cert.pem` and `server/key.pem`.
        certs_folder: PathBuf,
    },
    /// Not at all: on this machine only.
    Plain,
}

/// How much is let in, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all, those that have not yet said who they are among them.
    pub connections_max: usize,
    /// Of one device: a new one may come while an old one dies. One more, and the oldest gives way.
    pub per_device_max: usize,
    /// Peers that are asked who they are at the same time. One more, and the oldest of the most crowded address
    /// block gives way.
    pub handshakes_max: usize,
    /// How long a peer has to say who it is where nobody else is asked; the fewer places are free, the shorter.
    pub handshake_within: Duration,
    /// How long a peer that has said who it is has to make its first call.
    pub first_call_within: Duration,
    /// How often the files are looked at.
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
    /// The usual ones, with no more connections than this process may hold; its limit on open files is raised
    /// as far as it may be. A connection too many is then refused by us, and not by a system that has nothing
    /// left to accept it with.
    pub fn of_this_process() -> Self {
        let usual = Self::default();
        let fit = descriptors::raise().unwrap_or(usize::MAX);
        Self { connections_max: usual.connections_max.min(fit), ..usual }
    }

    /// How long one more peer has to say who it is while so many others are asked.
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
        // Certificates before the port: a server that cannot let anybody in should not seem to be there.
        let (greeting, watch) = match security {
            Security::Plain if !address.ip().is_loopback() => return Err(NetError::PlainText { address }),
            Security::Plain => (Greeting::Plain, JoinSet::new()),
            Security::MutualTls { certs_folder } => {
                let stamp = server_tls::stamp(&certs_folder);
                let ServerTls { config, revoked } = server_tls::load(&certs_folder)?;
                registry.revoke(revoked);
                let (watch, config) = watch::watch_files(certs_folder, stamp, config, Arc::clone(&registry));
                (Greeting::Tls(config), watch)
            }
        };
        let listener = listen(address).map_err(|source| NetError::Listen { address, source })?;
        let address = listener.local_addr().map_err(|source| NetError::Listen { address, source })?;
        let handshakes = JoinSet::new();
        Ok(Self { address, listener, greeting, registry, handshakes, pause_until: None, _watch: watch })
    }

    /// Where it listens: the port is the real one.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Everybody who is let in. It never ends and never fails; dropped, it no longer listens, and those who
    /// are in stay.
    pub fn into_stream(self) -> impl Stream<Item = Result<Connection, std::io::Error>> + Send {
        unfold(self, async |mut door| {
            let connection = door.next().await;
            Some((Ok(connection), door))
        })
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A server that was killed must be able to come back at once.
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
