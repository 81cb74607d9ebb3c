//! Deployed runs on a simulated clock and network: the real server and real agents, on one thread, the same way
//! twice. `cargo xtask faults` runs a thousand; FEDFLIP_FAULT_RUNS and FEDFLIP_FAULT_SEED say how many, and from
//! which seed on.
//!
//! # Layout
//!
//! - `run`: a run and what came of it; `roles`: its devices; `network`, `pipe`: what lies between them and the server.
//! - `deeds`: what a hostile device does; `table`: what the others may lose by it.
//! - `costs`: what rounds cost, as a server measures it.
//! - `counts`: devices whose number of samples changes.
//! - `fleets`: devices that leave, and servers that wait for devices.
//! - `seam`: what the simulation promises; `weather`: many seeded runs over bad links.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod before;
mod costs;
mod counts;
mod deeds;
#[path = "../common/device.rs"]
#[allow(dead_code, reason = "not every call by hand is made here")]
mod device;
mod fleets;
mod models;
mod network;
mod pipe;
#[path = "../common/plenty.rs"]
mod plenty;
#[path = "../common/replay.rs"]
mod replay;
mod roles;
mod run;
mod seam;
mod table;
#[path = "../common/wanted.rs"]
mod wanted;
mod weather;
