//! A connection that was let in.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tonic::transport::server::Connected;

use super::device_certificate::Caller;
use super::meter::Meter;
use super::registry::Place;
use crate::status::ConnectionRefusal;
use crate::wire::ByteStream;

/// The peer of a connection, for the code that answers its requests.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    /// The device by its certificate; none only without certificates, on the same machine.
    pub caller: Option<Arc<Caller>>,
    /// The last second of the device's certificate.
    pub certificate_until_unix_secs: Option<i64>,
}

/// A connection that was let in. It fails as soon as its peer may no longer stay.
pub struct Connection {
    // Closed before its place is given up: there are never more sockets than places.
    stream: Box<dyn ByteStream>,
    peer: Peer,
    /// Resolves when the connection is to be cut; none without a certificate that could be revoked.
    cut: Option<oneshot::Receiver<()>>,
    is_cut: bool,
    meter: Meter,
    /// A peer that has not called by then needs no place.
    first_call: Option<Pin<Box<Sleep>>>,
    place: Place,
}

impl Connection {
    pub(super) fn new(
        stream: Box<dyn ByteStream>,
        peer: Peer,
        cut: Option<oneshot::Receiver<()>>,
        place: Place,
    ) -> Self {
        let first_call = Some(Box::pin(tokio::time::sleep(place.registry.limits.first_call_within)));
        Self { stream, peer, cut, is_cut: false, meter: Meter::new(), first_call, place }
    }

    /// Fails if the connection was cut; otherwise wakes the polling task when it is.
    fn still(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if !self.is_cut
            && let Some(cut) = &mut self.cut
        {
            self.is_cut = Pin::new(cut).poll(context).is_ready();
        }
        if let Some(first_call) = &mut self.first_call
            && first_call.as_mut().poll(context).is_ready()
        {
            (self.first_call, self.is_cut) = (None, true);
            self.place.registry.count(ConnectionRefusal::Idle);
        }
        match self.is_cut {
            true => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "may no longer stay")),
            false => Ok(()),
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.still(context)?;
        ready!(self.meter.poll_ready(context));
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if let Some(read) = buffer.filled().get(before..) {
            self.meter.has_read(read, Instant::now());
        }
        if self.meter.has_called() {
            self.first_call = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.still(context)?;
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.meter.has_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.still(context)?;
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, pieces))?;
        self.meter.has_written(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.still(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.still(context)?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
