//! The durable state of one deployed run, in a folder.
//!
//! | file | |
//! |---|---|
//! | `state.sqlite` | the truth: devices, plans, rounds, what became of every update, the records |
//! | `models/NNNNNNNN.safetensors` | the model that this round left, and the optimiser's vectors; only the newest |
//! | `run.toml`, `fleet.csv`, `plan.csv`, `records.jsonl` | for readers, as a simulated run has them |
//! | `model.safetensors` | the model at the end |
//! | `.lock` | held by the server |
//!
//! A round is committed in this order: its model is brought to the disk under a name of its own; one
//! transaction names it, with its digest, the record, and the fate of every update; the record is appended for
//! readers; the model before is removed. So whenever the server is killed, the database names a model that is
//! there. What is beside the database follows it: opening the folder again brings the readers' files up to it
//! and removes strays.
//!
//! Every transaction also stores digests of all it changed. Opening a state computes them again first: a bit that
//! has changed on the disk, in whichever row, is refused by name, and nothing is overwritten. A `records.jsonl`
//! may end early, as a kill leaves it; where it differs from the database, it is refused by line and round.
//!
//! - `open`: starts a run, or resumes one.
//! - `run_state`: [`RunState`] writes the state; [`view`]: [`StateView`] reads it.
//! - [`rows`]: the parts of the state; `inserts`: the statements that write them.
//! - `seals`: the digests of all of it; `chain`: those of what is appended; `digests`: those of rows.
//! - `database`: the tables, and what errors mean; `models`, `records_file`, `incidents`: what their names say.

mod chain;
mod database;
mod digests;
mod incidents;
mod inserts;
mod models;
mod open;
mod records_file;
pub mod rows;
mod run_state;
mod seals;
pub mod view;

pub use database::{STATE, VERSION};
pub use rows::{
    Commit, EnrolledDevice, Fate, Incident, NewRun, Resumed, StoredModel, StoredPlan, StoredQuiet,
    StoredRound,
};
pub use run_state::RunState;
pub use view::StateView;

pub use crate::wire::numbers::digest as model_digest;
