//! A connection that fails if its reader does not read.
//!
//! Nothing is queued for a slow reader, but it holds a place among the readers. A reader that has not read a byte for a
//! while is asleep or hostile. The time of the last byte also tells which place is the least useful.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// The time of the last successful write, or of the start of the connection.
#[derive(Clone, Debug)]
pub(super) struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    pub(super) fn begin() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A stream whose writes fail after a while without progress.
pub struct Patient {
    stream: TcpStream,
    /// The time in which a reader must read a byte.
    silence_max: Duration,
    /// The timer of a write that waits.
    waiting: Option<Pin<Box<Sleep>>>,
    pulse: Pulse,
}

impl Patient {
    pub(super) fn new(stream: TcpStream, silence_max: Duration, pulse: Pulse) -> Self {
        Self { stream, silence_max, waiting: None, pulse }
    }

    fn judge<T>(&mut self, outcome: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.pulse.beat();
            self.waiting = None;
            return outcome;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.silence_max)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(outcome, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_reader_who_does_not_read_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let failed = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            // Keeps the connection and never reads.
            let _sleeper = listener.accept().unwrap();
            let mut patient = Patient::new(stream, Duration::from_millis(50), Pulse::begin());
            loop {
                let written =
                    poll_fn(|context| Pin::new(&mut patient).poll_write(context, &[0; 65_536])).await;
                if let Err(error) = written {
                    return error;
                }
            }
        });
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }
}
