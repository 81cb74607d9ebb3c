//! One direction of a simulated connection: bytes arrive after the time that the link takes, in order.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tonic::transport::server::Connected;

use fedflip_net::door::Peer;

/// Bytes that may be on their way before the writer has to wait.
const CAPACITY_BYTES: usize = 64 << 10;

/// One direction of a device's link, which all its connections share.
pub(crate) struct Way {
    pub(crate) latency: Duration,
    /// The latency of a piece is longer by up to this share of it.
    pub(crate) jitter: f64,
    /// Without a limit if none.
    pub(crate) mbps: Option<f64>,
    pub(crate) random: ChaCha8Rng,
    /// The link sends one piece after the other.
    pub(crate) busy_until: Instant,
    /// Nothing arrives before then.
    pub(crate) still_until: Instant,
}

impl Way {
    /// When bytes that are sent now arrive.
    fn arrival(&mut self, bytes: usize, now: Instant) -> Instant {
        if let Some(mbps) = self.mbps {
            let secs = 8e-6 * bytes as f64 / mbps;
            self.busy_until = self.busy_until.max(now) + Duration::from_secs_f64(secs);
        }
        let later = if self.jitter > 0.0 { self.random.random_range(0.0..self.jitter) } else { 0.0 };
        self.busy_until.max(now) + self.latency.mul_f64(1.0 + later)
    }
}

/// What is on its way in one direction of one connection.
pub(crate) struct Pipe {
    way: Arc<Mutex<Way>>,
    pieces: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    end: End,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The reader gets what is on its way, and then the end.
    Closed,
    /// Both sides see an error at once.
    Broken,
}

impl Pipe {
    pub(crate) fn new(way: &Arc<Mutex<Way>>) -> Arc<Mutex<Self>> {
        let pieces = VecDeque::new();
        let way = Arc::clone(way);
        Arc::new(Mutex::new(Self { way, pieces, bytes: 0, end: End::Open, reader: None, writer: None }))
    }

    pub(crate) fn cut(&mut self) {
        self.finish(End::Broken);
    }

    fn finish(&mut self, end: End) {
        if self.end != End::Broken {
            self.end = end;
        }
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }

    /// When the next piece arrives. Pieces keep their order, and wait while nothing moves.
    fn next_at(&self) -> Option<Instant> {
        let (at, _) = self.pieces.front()?;
        Some((*at).max(self.way.lock().unwrap().still_until))
    }

    fn push(&mut self, bytes: &[u8], now: Instant) -> usize {
        let taken = bytes.len().min(CAPACITY_BYTES - self.bytes);
        let arrival = self.way.lock().unwrap().arrival(taken, now);
        let arrival = self.pieces.back().map_or(arrival, |(before, _)| arrival.max(*before));
        self.pieces.push_back((arrival, bytes[..taken].to_vec()));
        self.bytes += taken;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        taken
    }

    fn pop(&mut self, buffer: &mut ReadBuf<'_>) {
        let Some((at, mut piece)) = self.pieces.pop_front() else { return };
        let taken = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece[..taken]);
        self.bytes -= taken;
        if taken < piece.len() {
            piece.drain(..taken);
            self.pieces.push_front((at, piece));
        }
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

/// One end of a simulated connection.
pub(crate) struct Socket {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    timer: Pin<Box<Sleep>>,
    peer: Peer,
}

impl Socket {
    pub(crate) fn new(incoming: &Arc<Mutex<Pipe>>, outgoing: &Arc<Mutex<Pipe>>, peer: Peer) -> Self {
        let (incoming, outgoing) = (Arc::clone(incoming), Arc::clone(outgoing));
        Self { incoming, outgoing, timer: Box::pin(tokio::time::sleep(Duration::ZERO)), peer }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.outgoing.lock().unwrap().finish(End::Closed);
        self.incoming.lock().unwrap().cut();
    }
}

impl Connected for Socket {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

fn reset<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { incoming, timer, .. } = &mut *self;
        let mut pipe = incoming.lock().unwrap();
        if pipe.end == End::Broken {
            return reset();
        }
        match pipe.next_at() {
            Some(at) if at <= Instant::now() => {
                pipe.pop(buffer);
                return Poll::Ready(Ok(()));
            }
            Some(at) => {
                timer.as_mut().reset(at);
                // It is pending: the moment is still to come.
                let _ = timer.as_mut().poll(context);
            }
            None if pipe.end == End::Closed => return Poll::Ready(Ok(())),
            None => {}
        }
        pipe.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut pipe = self.outgoing.lock().unwrap();
        if pipe.end != End::Open {
            return reset();
        }
        if pipe.bytes >= CAPACITY_BYTES {
            pipe.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(pipe.push(bytes, Instant::now())))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.lock().unwrap().finish(End::Closed);
        Poll::Ready(Ok(()))
    }
}
