//! Records as tables that other programs read.
//!
//! # Layout
//!
//! - [`table`]: the two tables of a run; [`csv`] and [`parquet`]: how they are written.

pub mod csv;
pub mod parquet;
pub mod table;

pub use table::{Column, Table};
