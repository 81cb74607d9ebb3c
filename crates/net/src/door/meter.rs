//! Limits the frames without data that a connection may send.
//!
//! The HTTP/2 library bounds CONTINUATION frames, small DATA frames, resets and open calls, but answers any number of
//! PING, SETTINGS, WINDOW_UPDATE and other frames. These are counted here: every frame except DATA takes a token, and so
//! does every read, however few bytes it returns. Incoming data pay tokens back, and so do outgoing data, which a peer
//! acknowledges. A connection that owes tokens is not read until it has them: an honest burst waits briefly, and an
//! upload never waits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep};

use crate::bucket::{Bucket, Rate};

/// An agent sends about ten frames in a round, and one in ten seconds while it waits.
const FRAMES: Rate = Rate { in_a_row: 2048.0, per_sec: 512.0 };
/// This many bytes of data pay for a read: less than a packet, so that uploads in full packets cost nothing.
const BYTES_PER_READ: f64 = 1024.0;
/// This many bytes to a peer pay for a frame: an agent acknowledges half a megabyte with two frames.
const BYTES_PER_ACKNOWLEDGEMENT: f64 = 8192.0;

/// Counts the frames of a connection.
pub(super) struct Meter {
    frames: Frames,
    tokens: Bucket,
    /// Resolves when the connection has tokens again.
    pause: Option<Pin<Box<Sleep>>>,
    has_called: bool,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { frames: Frames::default(), tokens: Bucket::full(FRAMES), pause: None, has_called: false }
    }

    /// Whether a call has ever begun.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Ready when the connection may be read.
    pub(super) fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = None;
            self.settle(Instant::now());
        }
        Poll::Ready(())
    }

    pub(super) fn has_read(&mut self, bytes: &[u8], now: Instant) {
        let seen = self.frames.count(bytes);
        self.has_called |= seen.calls;
        self.tokens.grant(seen.data_bytes as f64 / BYTES_PER_READ);
        self.tokens.spend(1.0 + seen.others as f64, now);
        self.settle(now);
    }

    pub(super) fn has_written(&mut self, bytes: usize) {
        self.tokens.grant(bytes as f64 / BYTES_PER_ACKNOWLEDGEMENT);
    }

    fn settle(&mut self, now: Instant) {
        let debt = self.tokens.debt(now);
        if !debt.is_zero() {
            self.pause = Some(Box::pin(tokio::time::sleep_until(now + debt)));
        }
    }
}

/// The length of the preface of an HTTP/2 connection.
const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// Finds the frames in the bytes of a peer, by their lengths and types only.
struct Frames {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    payload_bytes: usize,
    is_data: bool,
}

#[derive(Debug, Default, PartialEq)]
struct Seen {
    data_bytes: usize,
    /// Frames that began and are not DATA.
    others: usize,
    calls: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self { header: [0; HEADER_BYTES], header_bytes: 0, payload_bytes: PREFACE_BYTES, is_data: false }
    }
}

impl Frames {
    fn count(&mut self, mut bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        while !bytes.is_empty() {
            if self.payload_bytes > 0 {
                let (passed, rest) = bytes.split_at(self.payload_bytes.min(bytes.len()));
                self.payload_bytes -= passed.len();
                seen.data_bytes += if self.is_data { passed.len() } else { 0 };
                bytes = rest;
                continue;
            }
            let missing = &mut self.header[self.header_bytes..];
            let (passed, rest) = bytes.split_at(missing.len().min(bytes.len()));
            missing[..passed.len()].copy_from_slice(passed);
            self.header_bytes += passed.len();
            bytes = rest;
            if self.header_bytes == HEADER_BYTES {
                self.begin(&mut seen);
            }
        }
        seen
    }

    fn begin(&mut self, seen: &mut Seen) {
        let [high, middle, low, kind, ..] = self.header;
        self.header_bytes = 0;
        self.payload_bytes = u32::from_be_bytes([0, high, middle, low]) as usize;
        self.is_data = kind == DATA;
        seen.others += usize::from(!self.is_data);
        seen.calls |= kind == HEADERS;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frame(kind: u8, payload_bytes: usize) -> Vec<u8> {
        let length = (payload_bytes as u32).to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 0], &vec![9; payload_bytes]].concat()
    }

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let bytes =
            [vec![1; PREFACE_BYTES], frame(4, 0), frame(1, 70), frame(0, 5000), frame(6, 8), frame(0, 0)]
                .concat();
        for piece in [1, 2, 7, 24, 33, bytes.len()] {
            let mut frames = Frames::default();
            let mut sum = Seen::default();
            for bytes in bytes.chunks(piece) {
                let seen = frames.count(bytes);
                sum.data_bytes += seen.data_bytes;
                sum.others += seen.others;
                sum.calls |= seen.calls;
            }
            assert_eq!(sum, Seen { data_bytes: 5000, others: 3, calls: true }, "{piece}");
        }
    }

    fn owed(meter: &mut Meter, now: Instant) -> Duration {
        meter.tokens.debt(now)
    }

    #[tokio::test]
    async fn a_flood_waits_and_an_upload_does_not() {
        let now = Instant::now();
        let mut flood = Meter::new();
        flood.has_read(&[0; PREFACE_BYTES], now);
        for _ in 0..10 {
            flood.has_read(&frame(6, 8).repeat(963), now);
        }
        assert!(owed(&mut flood, now) > Duration::from_secs(10) && flood.pause.is_some());
        let mut upload = Meter::new();
        upload.has_read(&[0; PREFACE_BYTES], now);
        upload.has_read(&frame(1, 100), now);
        // A gigabyte in full packets, within no time.
        let packet = frame(0, 1439);
        for _ in 0..700_000 {
            upload.has_read(&packet, now);
        }
        assert!(upload.pause.is_none() && upload.has_called());
        // Byte by byte, it is read in larger pieces.
        let mut trickle = Meter::new();
        for _ in 0..3000 {
            trickle.has_read(&[0], now);
        }
        assert!(trickle.pause.is_some());
    }

    #[tokio::test]
    async fn a_download_is_acknowledged_for_nothing() {
        let now = Instant::now();
        let mut meter = Meter::new();
        meter.has_read(&[0; PREFACE_BYTES], now);
        for _ in 0..10_000 {
            meter.has_written(512 << 10);
            meter.has_read(&frame(8, 4), now);
            meter.has_read(&frame(8, 4), now);
        }
        assert!(meter.pause.is_none());
    }
}
