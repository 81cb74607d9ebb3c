//! Sending at a granted rate: evenly, and done when the grant says so.

use std::time::Duration;

use crate::wire::limits::CHUNK_BYTES_MAX;

/// What a byte of numbers takes on the wire: frames of gRPC, HTTP/2 and TLS, and the headers of TCP, IP and
/// Ethernet. Measured over a shaped link, see `cargo xtask band`.
pub const FRAMING: f64 = 1.048;

/// Finer than this is no use: timers are not.
const TICK_SECS: f64 = 0.01;

/// When which bytes leave.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    secs_per_byte: f64,
    chunk_bytes: usize,
}

impl Pace {
    /// None if this is no rate.
    pub fn new(mbps: f64) -> Option<Self> {
        if !(mbps.is_finite() && mbps > 1e-6) {
            return None;
        }
        let secs_per_byte = 8.0 * FRAMING / (1e6 * mbps);
        let chunk_bytes = ((TICK_SECS / secs_per_byte) as usize).clamp(1 << 10, CHUNK_BYTES_MAX);
        Some(Self { secs_per_byte, chunk_bytes })
    }

    /// How many bytes go in one message.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// When the message leaves that ends with byte `through`: not at the beginning of its time but at its end,
    /// so that the last one arrives when the grant is over and not before.
    pub fn leaves_after(&self, through: usize) -> Duration {
        Duration::try_from_secs_f64(through as f64 * self.secs_per_byte).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_used_up_and_not_more() {
        for mbps in [0.01, 1.0, 37.5, 1e3] {
            let pace = Pace::new(mbps).unwrap();
            let bytes = 87_360;
            let secs = pace.leaves_after(bytes).as_secs_f64();
            assert!((secs * mbps * 1e6 / (8.0 * bytes as f64) - FRAMING).abs() < 1e-6);
            assert!((1 << 10..=CHUNK_BYTES_MAX).contains(&pace.chunk_bytes()));
        }
        for no_rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Pace::new(no_rate).is_none());
        }
    }
}
