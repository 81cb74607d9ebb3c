//! Training on real devices: a server and its agents.
//!
//! Every device flips its own coin and proves the result. The server divides the bandwidth among the cohort, and commits
//! each round before it opens the next. It is the second world behind the engine's round loop, which defines a round.
//!
//! # Layout
//!
//! - `bucket`: limits the actions of a peer.
//! - [`coin`]: a coin that a device flips alone and that the server can check.
//! - [`identity`]: a certificate authority, and an identity for the server and for each device.
//! - [`door`]: the server's listener, which authenticates devices.
//! - [`plain`]: names of devices without certificates.
//! - [`wire`]: messages and their bounds.
//! - [`server`]: devices, rounds and commits.
//! - [`agent`]: a device, which trains on its own data and uploads its updates.
//! - [`measure`]: measurements of devices; [`replan`]: whether they call for a new plan.
//! - [`reason`]: the reasons of refusals.
//! - [`http`]: the common parts of small HTTP servers.
//! - [`status`]: metrics and health over HTTP.
//! - [`state`]: the durable state of a run, so that a server may be killed at any moment.
//! - [`error`]: all errors, each with a hint.

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
