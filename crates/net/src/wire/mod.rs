//! The messages of `proto/fedflip.proto`, and their bounds.
//!
//! # Layout
//!
//! - here: the messages as Rust, generated from the protocol file.
//! - [`codec`]: messages as bytes.
//! - [`encoding`]: the encoding of updates in messages.
//! - [`limits`]: the bounds of everything that a peer may send.
//! - [`numbers`]: vectors as bytes, collected from chunks, and their digests.
//! - [`sums`]: the sums of a device's evaluation.
//! - [`task`]: tasks in messages; [`external`]: those that only programs on devices can train.

use fedflip_fleet::printable::is_unprintable;
use tokio::io::{AsyncRead, AsyncWrite};

pub mod codec;
pub mod encoding;
pub mod external;
pub mod limits;
pub mod numbers;
pub mod sums;
pub mod task;

/// The messages, the client and the server's trait.
#[allow(
    missing_docs,
    clippy::all,
    clippy::needless_pass_by_value,
    unreachable_pub,
    reason = "made by the build"
)]
pub mod v1 {
    tonic::include_proto!("fedflip.v1");
}

/// The version of the protocol: a server refuses devices of another version.
pub const PROTOCOL: u32 = 7;

/// A connection that carries bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Shortens a text of a peer, and removes characters that a terminal would obey.
pub fn printable(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    text.chars().filter(|c| !is_unprintable(*c)).take(CHARS_MAX).collect()
}
