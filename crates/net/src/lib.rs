//! Devices at the other end of a network: a server and its agents.
//!
//! Every device flips its own coin and proves what came of it; the server divides the band among those who take
//! part, and commits each round before it opens the next. The server is the second world behind the engine's
//! round loop: what a round is, stands there.
//!
//! # Layout
//!
//! - `bucket`: what a peer may do in a row, and what on average.
//! - [`coin`]: a coin that a device flips alone and that the server can check.
//! - [`identity`]: a certificate authority, and an identity for the server and for each device.
//! - [`door`]: who may come in.
//! - [`plain`]: who a device says it is where there is no certificate.
//! - [`wire`]: what goes over the network, and its bounds.
//! - [`server`]: who is there, the rounds, and what is kept of them.
//! - [`agent`]: a device: it trains on its own data and sends what it has learnt.
//! - [`measure`]: what rounds say of devices' times and availability; [`replan`]: whether that asks for a new plan.
//! - [`reason`]: why something of a device was refused.
//! - [`http`]: what small HTTP servers share: bounded connections, and the names they may be asked for by.
//! - [`status`]: how a server is doing, over HTTP.
//! - [`state`]: what a run has come to, so that a server may be killed at any moment.
//! - [`error`]: one enum for all that can be wrong, each with a hint.

pub mod agent;
mod bucket;
pub mod coin;
pub mod door;
pub mod error;
pub mod http;
pub mod identity;
pub mod measure;
pub mod plain;
pub mod reason;
pub mod replan;
pub mod server;
pub mod state;
pub mod status;
pub mod wire;

pub use coin::{CoinKey, CoinPublic, Toss};
pub use error::NetError;
