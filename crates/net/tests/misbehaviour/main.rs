//! Devices that behave badly in every way we could think of: each is refused or dropped for the right reason,
//! rounds close in time, honest devices count, and what was committed can be computed again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/bench.rs"]
mod bench;
mod coins;
mod counts;
mod deeds;
#[path = "../common/device.rs"]
mod device;
mod encodings;
mod evaluations;
mod names;
mod out_of_turn;
#[path = "../common/replay.rs"]
mod replay;
mod restart;
mod rivals;
mod servers;
#[path = "../common/timeouts.rs"]
mod timeouts;
#[path = "../common/wanted.rs"]
mod wanted;

use tonic::{Code, Status};

#[track_caller]
pub(crate) fn refuse<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, reason: &str) {
    let status = result.expect_err("it must be refused");
    assert_eq!((status.code(), status.message()), (code, reason));
}
