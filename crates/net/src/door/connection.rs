//! A connection that was let in.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::device_certificate::Caller;
use super::meter::Meter;
use super::registry::Place;
use crate::status::ConnectionRefusal;

/// Who is at the other end, for whoever answers its requests.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    /// Who it is; none only where nobody is asked, on the same machine.
    pub caller: Option<Arc<Caller>>,
}

/// A connection that was let in. It fails as soon as its peer may no longer stay.
pub struct Connection {
    // Closed before its place is given up: there are never more sockets than places.
    stream: Stream,
    peer: Peer,
    cut: Cut,
    meter: Meter,
    /// Whoever has not called by then has no need of a place.
    first_call: Option<Pin<Box<Sleep>>>,
    place: Place,
}

enum Stream {
    Tls(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

enum Cut {
    Never,
    When(oneshot::Receiver<()>),
    Already,
}

impl Connection {
    pub(super) fn secure(
        stream: TlsStream<TcpStream>,
        address: SocketAddr,
        caller: Arc<Caller>,
        cut: oneshot::Receiver<()>,
        place: Place,
    ) -> Self {
        let peer = Peer { address, caller: Some(caller) };
        Self::new(Stream::Tls(Box::new(stream)), peer, Cut::When(cut), place)
    }

    pub(super) fn plain(stream: TcpStream, address: SocketAddr, place: Place) -> Self {
        let peer = Peer { address, caller: None };
        Self::new(Stream::Plain(stream), peer, Cut::Never, place)
    }

    fn new(stream: Stream, peer: Peer, cut: Cut, place: Place) -> Self {
        let first_call = Some(Box::pin(tokio::time::sleep(place.first_call_within())));
        Self { stream, peer, cut, meter: Meter::new(), first_call, place }
    }

    /// Fails if it was cut; otherwise wakes whoever polls when it is.
    fn still(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Cut::When(cut) = &mut self.cut
            && Pin::new(cut).poll(context).is_ready()
        {
            self.cut = Cut::Already;
        }
        if let Some(first_call) = &mut self.first_call
            && first_call.as_mut().poll(context).is_ready()
        {
            self.first_call = None;
            self.cut = Cut::Already;
            self.place.count(ConnectionRefusal::Idle);
        }
        match self.cut {
            Cut::Already => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "may no longer stay")),
            Cut::Never | Cut::When(_) => Ok(()),
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// The same call on whichever stream it is.
macro_rules! on_stream {
    ($connection:expr, $stream:ident => $call:expr) => {
        match &mut $connection.stream {
            Stream::Tls(stream) => {
                let $stream = Pin::new(stream.as_mut());
                $call
            }
            Stream::Plain(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
        }
    };
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
        ready!(on_stream!(self, stream => stream.poll_read(context, buffer)))?;
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
        let written = ready!(on_stream!(self, stream => stream.poll_write(context, bytes)))?;
        self.meter.has_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.still(context)?;
        let written = ready!(on_stream!(self, stream => stream.poll_write_vectored(context, pieces)))?;
        self.meter.has_written(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tls(stream) => stream.is_write_vectored(),
            Stream::Plain(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.still(context)?;
        on_stream!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.still(context)?;
        on_stream!(self, stream => stream.poll_shutdown(context))
    }
}
