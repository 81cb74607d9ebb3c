//! Runs made visible, from their records alone.
//!
//! # Layout
//!
//! - [`numbers`]: numbers for people.

mod chart;
pub mod collection;
pub mod config;
pub mod curve;
pub mod data;
pub mod devices;
pub mod error;
pub mod explain;
pub mod figures;
mod find;
pub mod numbers;
pub mod output;
pub mod page;
pub mod png;
pub mod problem;
pub mod rounds;
pub mod run_view;
pub mod standing;
pub mod sweep;
pub mod table;
pub mod tables;

pub use chart::figure::Figure;
pub use collection::{Collection, Group, SchemeRuns};
pub use error::ReportError;
pub use problem::Problem;
