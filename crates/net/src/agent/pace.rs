//! Sends at a granted rate, evenly and until the grant ends.
//!
//! A grant is a share of the bandwidth, which carries headers beside numbers. The headers count too, so that devices
//! that share a bandwidth together do not exceed it. `cargo xtask band` compares this arithmetic with the counters of a
//! shaped link (`tc -s qdisc`): at 3 to 6 Mbit/s a byte of numbers counts as 1.054 bytes, and is 1.052 bytes on the
//! wire.

use std::time::Duration;

use crate::wire::limits::CHUNK_BYTES_MAX;

/// The overhead of one message: the length of gRPC (5), tag and length of the protocol's field (4).
const MESSAGE_BYTES: usize = 9;
/// The payload of an HTTP/2 frame, and about that of a TLS record.
const FRAME_BYTES_MAX: usize = 16 << 10;
/// The overhead of each frame: the header of HTTP/2 (9), header, type and tag of TLS 1.3 (22).
const FRAME_BYTES: usize = 31;
/// The payload of a packet of 1500 bytes beside the headers of IP (20) and of TCP with its timestamps (32).
const PACKET_BYTES_MAX: usize = 1448;
/// The overhead of each packet: those headers, and the one of Ethernet (14).
const PACKET_BYTES: usize = 66;

/// Timers are not finer than this, and small packets are mostly headers.
const TICK_SECS: f64 = 0.02;

/// The size of a message with this many bytes of numbers, before TCP cuts it into packets.
fn framed_bytes(bytes: usize) -> usize {
    bytes + MESSAGE_BYTES + FRAME_BYTES * (bytes + MESSAGE_BYTES).div_ceil(FRAME_BYTES_MAX)
}

/// The size of such a message on the wire.
fn wire_bytes(bytes: usize) -> usize {
    let framed = framed_bytes(bytes);
    framed + PACKET_BYTES * framed.div_ceil(PACKET_BYTES_MAX)
}

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    secs_per_byte: f64,
    chunk_bytes: usize,
}

impl Pace {
    /// None if the number is not a rate.
    pub fn new(mbps: f64) -> Option<Self> {
        if !(mbps.is_finite() && mbps > 1e-6) {
            return None;
        }
        let tick_bytes = TICK_SECS * mbps * 1e6 / 8.0;
        let packets_max = CHUNK_BYTES_MAX / PACKET_BYTES_MAX;
        let packets =
            ((tick_bytes / (PACKET_BYTES_MAX + PACKET_BYTES) as f64) as usize).clamp(1, packets_max);
        // Whole packets: the headers of a small last packet cost as much as those of a full one.
        let filled = packets * PACKET_BYTES_MAX;
        let chunk_bytes = (filled - (framed_bytes(filled) - filled)) / 4 * 4;
        let framing = wire_bytes(chunk_bytes) as f64 / chunk_bytes as f64;
        Some(Self { secs_per_byte: 8.0 * framing / (1e6 * mbps), chunk_bytes })
    }

    /// The bytes of one message, a multiple of four.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The time at which the message that ends with byte `through` leaves: at the end of its share of time, so that the
    /// last message does not arrive before the grant is over.
    pub fn leaves_after(&self, through: usize) -> Duration {
        Duration::try_from_secs_f64(through as f64 * self.secs_per_byte).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_used_up_and_not_more() {
        for mbps in [0.01, 0.5, 1.0, 3.0, 37.5, 1e3] {
            let pace = Pace::new(mbps).unwrap();
            let chunk_bytes = pace.chunk_bytes();
            assert!(
                chunk_bytes.is_multiple_of(4) && (1024..=CHUNK_BYTES_MAX).contains(&chunk_bytes),
                "{chunk_bytes}"
            );
            // A hundred messages, counted packet by packet, take as long as the bandwidth allows.
            let wire_mbit = 100.0 * 8e-6 * wire_bytes(chunk_bytes) as f64;
            let secs = pace.leaves_after(100 * chunk_bytes).as_secs_f64();
            assert!((secs * mbps / wire_mbit - 1.0).abs() < 1e-6);
            let framed = framed_bytes(chunk_bytes);
            assert!(framed.next_multiple_of(PACKET_BYTES_MAX) - framed < 40, "packets are full");
            assert!((1.045..1.08).contains(&(wire_bytes(chunk_bytes) as f64 / chunk_bytes as f64)));
        }
        for no_rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Pace::new(no_rate).is_none());
        }
    }
}
