//! Samples of a user's own, read from the files that people have: npz, safetensors, Parquet, CSV and text.
//!
//! A file is never trusted: sizes are checked against its length before memory is taken, NaN and infinite values are
//! refused with their place, and arrays of Python objects are not read at all.
//!
//! ```
//! use fedflip_samples::{Labels, files};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("mine.csv"), "height,weight,label\n1.8,80,0\n1.6,55,1\n")?;
//! let found = files::found(folder.path(), &["*.csv".to_owned()])?;
//! let table = files::read(&found)?;
//! assert_eq!((table.len(), &table.shape[..]), (2, &[2][..]));
//! assert_eq!(table.labels, Labels::Classes(vec![0, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! - [`files`]: which files are meant, and the table of formats.
//! - [`table`]: samples in memory; `labels`: what a model is to predict; `arrange`: features by their names;
//!   [`devices`]: whose they are; [`inspect`]: what is in them; `moments`:
//!   their means and deviations.
//! - `npz`, `npy`, `safetensors_file`: arrays; `array`: an array before it is known what it is for.
//! - `csv_file`, `parquet_file`, `parquet_pages`, `quiet`: tables; `columns`: what a column is for.
//! - `text_file`: plain text. `digest`: whether samples are still the same.
//! - [`error`]: everything that can be wrong with a file.

mod arrange;
mod array;
mod columns;
mod csv_file;
pub mod devices;
mod digest;
pub mod error;
pub mod files;
pub mod inspect;
mod labels;
mod moments;
mod npy;
mod npz;
mod parquet_file;
mod parquet_pages;
mod quiet;
mod safetensors_file;
pub mod table;
mod text_file;

pub use arrange::OtherColumns;
pub use devices::Devices;
pub use digest::DataDigest;
pub use error::{Problem, SamplesError};
pub use inspect::Inspection;
pub use labels::{CLASSES_MAX, Labels};
pub use table::{Features, Table};
