//! Records as tables and curves that other programs read.
//!
//! # Layout
//!
//! - [`table`]: the tables of a run; [`csv`] and [`parquet`]: how they are written; `times`: who did what when in its rounds.
//! - [`tensorboard`]: its curves as an event file, in the frames of `tfrecord`.

pub mod csv;
pub mod parquet;
pub mod table;
pub mod tensorboard;
mod tfrecord;
mod times;

pub use table::{Column, Table};
