//! What a run leaves behind: its records, its checkpoints, and the folder that holds them.
//!
//! Records are the truth: reports read nothing else. Those of simulations hold virtual time only, so that
//! equal scenarios and seeds give equal bytes; what belongs to the machine goes into `host.json`.
//!
//! # Layout
//!
//! - [`schema`]: the lines of `records.jsonl` and their version.
//! - [`changed`]: settings that changed meanwhile; [`costs`]: what rounds cost besides computing and bandwidth.
//! - [`writer`]: appending them; [`reader`]: reading them back, also while they are being written.
//! - [`checkpoint`]: where a run can continue from, as bytes that show any damage.
//! - [`folder`]: a run's folder: what is on disk when, where to continue; `lock`: who may write; `same_run`: whether it holds the run
//!   that is wanted; `caps`: how far it may go; `names`: its files; [`others`]: whether it holds files of somebody else.
//! - [`atomic`]: files that are there whole or not at all.
//! - [`fold`]: a run in a few numbers and curves; [`summary`]: the numbers.
//! - [`best`]: the best evaluation so far; `target`: the value at which a run ends; `estimated`: how sure a value is.
//! - [`export`]: records as CSV, as Parquet, and for TensorBoard.
//! - [`error`]: one enum for all that can be wrong, each with a hint.

pub mod atomic;
pub mod best;
mod caps;
pub mod changed;
pub mod checkpoint;
pub mod costs;
pub mod error;
mod estimated;
pub mod export;
pub mod fold;
pub mod folder;
mod lock;
mod names;
pub mod others;
pub mod reader;
mod recount;
mod same_run;
pub mod schema;
pub mod summary;
mod target;
mod text;
pub mod writer;

pub use best::Best;
pub use changed::{Changed, KeyChange};
pub use checkpoint::Checkpoint;
pub use costs::RecordedCosts;
pub use error::{FolderProblem, RecordError};
pub use estimated::Estimated;
pub use fold::{Curve, Fold, Point};
pub use folder::{RunFolder, Start};
pub use recount::{Recount, SampleCount};
pub use schema::{
    ConstantsSource, Deployed, End, EndReason, Header, Initial, Line, Lost, Replan, Round, UsedConstants,
};
pub use summary::Summary;
pub use target::{Target, TargetMode};
