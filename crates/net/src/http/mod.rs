//! The common parts of fedflip's small HTTP servers: the one of metrics and health, and the dashboard's.
//!
//! # Layout
//!
//! - [`host`]: the host names that requests may have.
//! - [`places`]: bounds the number of connections; the least useful one gives way.
//! - [`patient`]: a connection that fails if its reader does not read.

pub mod host;
pub mod patient;
pub mod places;

use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;

pub use host::may_be_asked_as;
pub use patient::Patient;
pub use places::Places;

/// The time in which the head of a request must arrive. A connection may stay idle for as long: a later request opens a
/// new connection, which is cheap on this machine.
pub const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// A pause after the system refused to accept a connection, such as for want of file descriptors.
pub const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// HTTP/1 with bounds on the size of a request's head and on the time to read it.
pub fn protocol(head_bytes_max: usize) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(head_bytes_max);
    protocol
}
