//! The two worlds behind the one round loop: what a simulation says, real devices do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod demo;
mod external;
mod neighbours;
mod operator;
mod own;
mod parity;
mod privacy;
mod serve;
