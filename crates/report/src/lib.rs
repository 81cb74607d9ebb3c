//! Runs made visible, from their records alone: a deployed run renders like a simulated one.
//!
//! Folders are read into a [`Collection`]; everything else is a view of it. The same records give the same
//! bytes, whatever the machine and the date.
//!
//! # Layout
//!
//! - `find`, [`run_view`], [`rounds`], [`config`], [`devices`]: which folders hold runs; a run's records folded
//!   into what is shown; its scenario; its fleet and plan.
//! - [`collection`], `grouping`: runs that can be compared in one group, each scheme with its seeds; `growing`: which
//!   these are.
//! - [`standing`], [`milestones`], [`curve`], [`pilots`], [`fits`], [`explain`], [`sweep`]: what groups say: hours to the
//!   target and on the way, curves with bands, α and β (also at other losses), the plan against what came of it, speed-up over the values
//!   of a key.
//! - [`deployed`]: runs on real devices: plan after plan, and how each device did.
//! - [`table`], [`tables`], [`data`]: tables for people and programs; those of a report; the numbers behind
//!   the figures.
//! - `chart`, [`figures`], [`png`]: SVG of our own; the figures of a report; their pixels.
//! - [`page`]: the HTML page. [`output`]: all formats as files.
//! - [`numbers`]: numbers for people, also on a terminal.
//! - [`problem`], [`error`]: what could not be read and is said; what keeps a report from being made.

mod chart;
pub mod collection;
pub mod config;
pub mod curve;
pub mod data;
pub mod deployed;
pub mod devices;
pub mod error;
pub mod explain;
pub mod figures;
mod find;
pub mod fits;
mod grouping;
mod growing;
pub mod milestones;
pub mod numbers;
pub mod output;
pub mod page;
pub mod pilots;
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
