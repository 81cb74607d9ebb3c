//! Runs made visible, from their records alone.
//!
//! # Layout
//!
//! - [`numbers`]: numbers for people.

mod chart;
pub mod collection;
pub mod config;
pub mod curve;
pub mod devices;
pub mod error;
mod find;
pub mod numbers;
pub mod problem;
pub mod rounds;
pub mod run_view;
pub mod standing;

pub use collection::{Collection, Group, SchemeRuns};
pub use error::ReportError;
pub use problem::Problem;
