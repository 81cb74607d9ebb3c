//! Devices that call, probe or send frames as fast as they can: the server stays quiet and free for the others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "other tests need agents")]
#[path = "../common/bench.rs"]
mod bench;
mod calls;
#[allow(dead_code, reason = "other tests take part in rounds")]
#[path = "../common/device.rs"]
mod device;
mod frames;
mod log;
mod probes;
#[allow(dead_code, reason = "nothing is replayed here")]
#[path = "../common/replay.rs"]
mod replay;
#[path = "../common/timeouts.rs"]
mod timeouts;
#[path = "../common/wanted.rs"]
mod wanted;
