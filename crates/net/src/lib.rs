//! Devices at the other end of a network.
//!
//! So far: who a device is, and the coin that it flips. Both are what a server checks before it lets anybody
//! take part.
//!
//! # Layout
//!
//! - [`coin`]: a coin that a device flips alone and that the server can check.
//! - [`identity`]: a certificate authority, and an identity for the server and for each device.
//! - [`state`]: what a run has come to, so that a server may be killed at any moment.
//! - [`measure`]: what rounds tell about devices; [`replan`]: whether that calls for another plan.
//! - [`error`]: one enum for all that can be wrong, each with a hint.

pub mod coin;
pub mod error;
pub mod identity;
pub mod measure;
pub mod replan;
pub mod state;

pub use coin::{CoinKey, CoinPublic, Toss};
pub use error::NetError;
