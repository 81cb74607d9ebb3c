//! Devices at the other end of a network.
//!
//! So far: who a device is, and the coin that it flips. Both are what a server checks before it lets anybody
//! take part.
//!
//! # Layout
//!
//! - [`coin`]: a coin that a device flips alone and that the server can check.
//! - [`identity`]: a certificate authority, and an identity for the server and for each device.
//! - [`door`]: who may come in.
//! - [`status`]: how a server is doing, over HTTP.
//! - [`state`]: what a run has come to, so that a server may be killed at any moment.
//! - [`error`]: one enum for all that can be wrong, each with a hint.

pub mod coin;
pub mod door;
pub mod error;
pub mod identity;
pub mod status;
pub mod state;

pub use coin::{CoinKey, CoinPublic, Toss};
pub use error::NetError;
