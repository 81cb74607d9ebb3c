//! Data sets: what there is, how to get it, how to read it.
//!
//! # Layout
//!
//! - [`catalogue`]: the known sets: files, sums, packages, addresses.
//! - [`fetch`]: getting a set, all or nothing; `clients`: the programs that download and unpack.
//! - [`load`]: files to a [`Dataset`], every byte checked.
//! - [`dataset`]: samples held once and handed out as normalised batches.
//! - [`idx`], [`cifar`], [`plays`], [`alphabet`]: one format each.
//! - [`sums`]: MD5; [`error`]: one enum for all that can be wrong, each with a hint.

pub mod alphabet;
pub mod catalogue;
pub mod cifar;
mod clients;
pub mod dataset;
pub mod error;
pub mod fetch;
pub mod idx;
pub mod load;
pub mod plays;
pub mod sums;

pub use catalogue::Name;
pub use dataset::{Dataset, Split};
pub use error::DataError;
