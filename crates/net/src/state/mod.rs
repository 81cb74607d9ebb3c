//! The durable state of one deployed run, in a folder.
//!
//! | file | |
//! |---|---|
//! | `state.sqlite` | the authoritative copy: devices, plans, rounds, the fate of every update, the records |
//! | `models/NNNNNNNN.safetensors` | the model after this round, and the optimiser's vectors; only the newest |
//! | `run.toml`, `fleet.csv`, `plan.csv`, `records.jsonl` | for readers, as a simulated run has them |
//! | `model.safetensors` | the model at the end |
//! | `departed.json` | the devices that were retired or revoked |
//! | `best.safetensors` | the model with the best value of the metric that the target names |
//! | `.lock` | held by the server |
//!
//! A round is committed in this order: its model is written under a name of its own; one transaction stores that name,
//! the digest, the record and the fate of every update; the record is appended for readers; the model before is
//! removed. So whenever the server is killed, the database names a model that exists. Opening the folder again updates
//! the files for readers and removes strays.
//!
//! Every transaction also stores digests of its changes. Opening a state first computes them again: a bit that has
//! changed on the disk, in any row, is refused by name, and nothing is overwritten. A `records.jsonl` may end early, as
//! after a kill; where it differs from the database, it is refused by line and round.
//!
//! - `open`: starts a run, or resumes one.
//! - `run_state`: [`RunState`] writes the state; [`view`]: [`StateView`] reads it.
//! - [`rows`]: the parts of the state; `inserts`: the statements that write them.
//! - `seals`: the digests of the whole state; `chain`: digests of appended rows; `digests`: digests of rows.
//! - [`departed`]: the devices that have left for good.
//! - `database`: the tables and the errors of the database; `models`, `records_file`, `incidents`: the other parts.

mod chain;
mod database;
pub mod departed;
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
pub use departed::{DEPARTED, Departed, Departure};
pub use rows::{
    Commit, EnrolledDevice, Fate, Incident, NewRun, PlannedDevice, Resumed, StoredModel, StoredPlan,
    StoredRound,
};
pub use run_state::RunState;
pub use view::StateView;

pub use crate::wire::numbers::digest as model_digest;
