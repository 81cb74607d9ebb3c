//! Runs made visible, from their records alone: a deployed run renders like a simulated one.
//!
//! Folders are read into a [`Collection`], a [`Report`] is built from it once, and every format renders the report. The
//! same records give the same bytes, whatever the machine and the date.
//!
//! # Layout
//!
//! - `find_runs`, [`run_view`], [`rounds`], [`config`], [`devices`]: which folders hold runs; a run's records folded
//!   into what is shown; its scenario; its fleet and plan.
//! - [`collection`], `comparable`, `grouping`: runs that can be compared in one group, each scheme with its seeds.
//! - [`given_target`]: a target for the report, in the place of those of the runs.
//! - [`standing`], [`curve`], [`pilots`], [`explain`]: what groups say.
//! - [`model`]: a report as sections of blocks. [`sections`]: the list of sections, and a file for each thing in them.
//! - [`table`], `chart`: the tables and figures that blocks hold.
//! - [`render`]: a file for each format, and the table of formats.
//! - [`numbers`]: numbers for people, also on a terminal.
//! - `mixed_workers`: runs whose workers differed.
//! - `problem`, [`error`]: what could not be read; what keeps a report from being made.

mod chart;
pub mod collection;
mod comparable;
pub mod config;
pub mod curve;
pub mod devices;
pub mod error;
pub mod explain;
mod find_runs;
pub mod given_target;
mod grouping;
mod mixed_workers;
pub mod model;
pub mod numbers;
pub mod pilots;
mod problem;
pub mod render;
pub mod rounds;
pub mod run_view;
pub mod sections;
pub mod standing;
pub mod table;

pub use chart::figure::Figure;
pub use collection::{Collection, Group, SchemeRuns};
pub use error::ReportError;
pub use given_target::GivenTarget;
pub use model::{Options, Report};
pub use render::{FORMATS, Format, OutputFile};
pub use table::{Cell, Table};
