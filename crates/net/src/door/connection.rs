//! A connection that was let in.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::passport::Caller;
use super::registry::Place;

/// Who is at the other end, for whoever answers its requests.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where it comes from.
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
    _place: Place,
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
        Self { stream: Stream::Tls(Box::new(stream)), peer, cut: Cut::When(cut), _place: place }
    }

    pub(super) fn plain(stream: TcpStream, address: SocketAddr, place: Place) -> Self {
        let peer = Peer { address, caller: None };
        Self { stream: Stream::Plain(stream), peer, cut: Cut::Never, _place: place }
    }

    /// Fails if it was cut; otherwise wakes whoever polls when it is.
    fn still(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Cut::When(cut) = &mut self.cut
            && Pin::new(cut).poll(context).is_ready()
        {
            self.cut = Cut::Already;
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
        on_stream!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.still(context)?;
        on_stream!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.still(context)?;
        on_stream!(self, stream => stream.poll_write_vectored(context, pieces))
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
