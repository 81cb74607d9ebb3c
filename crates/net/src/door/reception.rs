//! Accepts connections and authenticates peers.
//!
//! Handshakes run side by side, each in a task of its own with little time, so that a silent peer delays nobody.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{self, CertificateError, ServerConfig};
use tracing::debug;

use super::Door;
use super::connection::{Connection, Peer};
use super::device_certificate::DeviceCertificate;
use super::registry::{Arrival, Registry};
use crate::status::ConnectionRefusal;

/// A pause after the system refused to accept a connection, such as for want of file descriptors.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A peer that is silent for this time gets a keep-alive probe,
const ALIVE_AFTER: Duration = Duration::from_secs(30);
/// again after this time,
const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// and is given up after this many probes.
const ALIVE_TRIES: u32 = 3;

pub(super) enum Greeting {
    /// Peers show a certificate; the configuration is always the latest.
    Tls(watch::Receiver<Arc<ServerConfig>>),
    Plain,
}

impl Door {
    /// The next accepted connection.
    pub(super) async fn next(&mut self) -> Connection {
        loop {
            // A handshake that has ended or given way is removed before the next connection is accepted, so there is never more
            // than one socket beyond the places.
            let room = self.handshakes.len() <= self.registry.waiting();
            let pause = self.pause_until;
            tokio::select! {
                Some(done) = self.handshakes.join_next() => {
                    if let Ok(Some(connection)) = done {
                        return connection;
                    }
                }
                () = async { tokio::time::sleep_until(pause.unwrap_or_else(Instant::now)).await },
                    if pause.is_some() => self.pause_until = None,
                accepted = self.listener.accept(), if room && pause.is_none() => match accepted {
                    Ok((stream, address)) => {
                        if let Some(connection) = self.receive(stream, address) {
                            return connection;
                        }
                    }
                    // The peer left before it was accepted: no resource is short.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => {
                        debug!(%error, "no connection can be accepted");
                        self.pause_until = Some(Instant::now() + ACCEPT_AGAIN_AFTER);
                    }
                },
            }
        }
    }

    /// Returns a connection at once if peers are not authenticated; otherwise it starts a handshake.
    fn receive(&mut self, stream: TcpStream, address: SocketAddr) -> Option<Connection> {
        let mut arrival = match self.registry.arrive(address.ip()) {
            Ok(arrival) => arrival,
            Err(refusal) => {
                refuse(&self.registry, refusal, address);
                return None;
            }
        };
        prepare(&stream);
        match &self.greeting {
            Greeting::Plain => {
                let cut = arrival.place.admit(None).ok()?;
                let peer = Peer { address, caller: None, certificate_until_unix_secs: None };
                return Some(Connection::new(Box::new(stream), peer, cut, arrival.place));
            }
            Greeting::Tls(config) => {
                let acceptor = TlsAcceptor::from(Arc::clone(&config.borrow()));
                let registry = Arc::clone(&self.registry);
                self.handshakes.spawn(async move {
                    let greeted = greet(stream, address, acceptor, arrival).await;
                    greeted.map_err(|refusal| refuse(&registry, refusal, address)).ok()
                });
            }
        }
        None
    }
}

fn refuse(registry: &Registry, refusal: ConnectionRefusal, address: SocketAddr) {
    // A handshake that gives way is counted when it is chosen.
    if refusal != ConnectionRefusal::Crowded {
        registry.count(refusal);
    }
    // Any stranger can cause this line at will: it must not fill the log.
    debug!(%address, ?refusal, "a connection is refused");
}

/// The connection works even if the system refuses these options.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let alive =
        TcpKeepalive::new().with_time(ALIVE_AFTER).with_interval(ALIVE_EVERY).with_retries(ALIVE_TRIES);
    let _ = SockRef::from(stream).set_tcp_keepalive(&alive);
}

async fn greet(
    stream: TcpStream,
    address: SocketAddr,
    acceptor: TlsAcceptor,
    Arrival { mut place, within, give_way }: Arrival,
) -> Result<Connection, ConnectionRefusal> {
    let accepted = tokio::select! {
        accepted = tokio::time::timeout(within, acceptor.accept(stream)) => accepted,
        Ok(()) = give_way => return Err(ConnectionRefusal::Crowded),
    };
    let stream = accepted.map_err(|_| ConnectionRefusal::Timeout)?.map_err(|error| reason(&error))?;
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let device_certificate = certificate.and_then(|certificate| DeviceCertificate::read(certificate));
    let device_certificate = device_certificate.ok_or(ConnectionRefusal::NoDevice)?;
    let caller = Arc::clone(&device_certificate.caller);
    let certificate_until_unix_secs = Some(device_certificate.not_after_unix_secs);
    let cut = place.admit(Some(device_certificate))?;
    let peer = Peer { address, caller: Some(caller), certificate_until_unix_secs };
    Ok(Connection::new(Box::new(stream), peer, cut, place))
}

fn reason(error: &io::Error) -> ConnectionRefusal {
    use ConnectionRefusal as Because;
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::NoCertificatesPresented) => Because::NoCertificate,
        Some(rustls::Error::InvalidCertificate(problem)) => match problem {
            CertificateError::Revoked => Because::Revoked,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Because::Expired,
            _ => Because::Untrusted,
        },
        _ => Because::Protocol,
    }
}
