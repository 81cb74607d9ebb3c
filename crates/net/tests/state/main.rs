//! The state of a run: whenever the server is killed, what was committed is there, once, and all files agree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod crashes;
mod damage;
mod flips;
mod killed;
mod script;
mod speed;
