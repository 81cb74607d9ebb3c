//! A device that takes part: `fedflip join`, and `fedflip-join`, which can do nothing else and is small.
//!
//! # Layout
//!
//! - [`args`]: what may be typed.
//! - [`mod@join`]: from what was typed to an agent that runs.
//! - [`logs`]: what agents and servers say, as text or as JSON.
//! - [`data_dir`]: where data sets are kept.
//! - [`error`]: refusals with a hint.

#![warn(missing_docs)]

pub mod advice;
pub mod args;
pub mod data_dir;
pub mod error;
pub mod join;
pub mod logs;

pub use args::{JoinArgs, LogArgs, LogFormat, LogLevel};
pub use error::JoinError;
pub use join::join;
