//! What the small HTTP servers of fedflip share: the one of numbers and health, and the dashboard's.
//!
//! # Layout
//!
//! - [`host`]: by which names a server may be asked for.
//! - [`places`]: a bounded number of connections, of which the least useful one gives way.
//! - [`patient`]: a connection that gives up on a reader who does not read.

pub mod host;
pub mod patient;
pub mod places;

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;

pub use host::may_be_asked_as;
pub use patient::Patient;
pub use places::Places;

/// How long the head of a request may take to arrive. A connection may stay idle for as long: whoever asks again
/// later connects again, which costs nothing on this machine.
pub const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// A pause after the system refused to accept a connection, such as for want of file descriptors.
pub const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// HTTP/1 with bounds on what is read of a request, and for how long, before it is understood.
pub fn protocol(head_bytes_max: usize) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(head_bytes_max);
    protocol
}
