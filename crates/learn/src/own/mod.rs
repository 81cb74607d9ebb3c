//! A task on samples of the user's own: which files, which numbers, which network.
//!
//! - here: the files and the numbers that normalise their values.
//! - `row`: the row `own` of the table of tasks, whose parameters declare what the samples look like; `models`: the
//!   networks among which they choose.
//! - `samples`: the samples in memory, and how they are shared; `split`: training or test samples, checked against
//!   the declaration; `normalise`: their values as the network sees them; `text`: windows of a text; `alphabet`: its symbols.
//! - `device_and_server`: learners for a device with its own files, and for a server without training files.

mod alphabet;
mod device_and_server;
mod models;
mod normalise;
pub(crate) mod row;
mod samples;
mod split;
mod text;

use std::path::PathBuf;

pub use alphabet::{SYMBOLS_MAX, alphabet_of, check_alphabet, symbols_of};
pub use models::reads_codes;
pub use samples::{OwnDigests, OwnSamples, Shared};

/// Files of samples on this machine, and the numbers that normalise them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnData {
    /// Files of training samples, folders of them, or patterns.
    pub train: Vec<PathBuf>,
    /// Files of test samples; a device that only trains has none.
    pub test: Vec<PathBuf>,
    /// Is subtracted from each value: nothing, one number for all, one per channel, or one per feature. Bytes are
    /// divided by 255 before.
    pub mean: Vec<f32>,
    /// Divides each value afterwards, in the same way.
    pub std: Vec<f32>,
    /// The names of the features of tables, in the order of the network's inputs; empty if nobody names them.
    pub columns: Vec<String>,
    /// The characters of texts, whose codes count from 1; empty for the symbols of the Shakespeare task.
    pub alphabet: String,
    /// The names of the fleet's devices, by which samples find their device; empty if positions decide.
    pub fleet: Vec<String>,
}
