//! The names of the files in a run's folder.

use std::path::Path;

use crate::lock::LOCK;

/// The file with the scenario.
pub const RUN: &str = "run.toml";
/// The file with the devices.
pub const FLEET: &str = "fleet.csv";
/// The file with the participation probabilities.
pub const PLAN: &str = "plan.csv";
/// The aggregation weights that a person gave.
pub const WEIGHTS: &str = "weights.csv";
/// The file with the records.
pub const RECORDS: &str = "records.jsonl";
/// The file with the model.
pub const MODEL: &str = "model.safetensors";
/// The best model so far.
pub const BEST: &str = "best.safetensors";
/// What belongs to the machine.
pub const HOST: &str = "host.json";
/// The folder of the pilots that a run continues from.
pub const PILOTS: &str = "pilots";

/// The folder of checkpoints.
pub(crate) const CHECKPOINTS: &str = "checkpoint";
/// The last two checkpoints.
pub(crate) const SLOTS: [&str; 2] = ["checkpoint/a", "checkpoint/b"];

/// Whether a path is that of a file which a run folder needs: a simulated run's, or that of a server.
pub fn is_of_run(path: &Path) -> bool {
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else { return false };
    let names =
        [RUN, FLEET, PLAN, WEIGHTS, RECORDS, MODEL, BEST, HOST, LOCK, "initial.safetensors", "state.sqlite"];
    let is_run = |folder: &Path| folder.join(RECORDS).is_file();
    let is_inside = |inner: &str| folder.ends_with(inner) && folder.parent().is_some_and(is_run);
    names.iter().any(|known| name == *known) && is_run(folder)
        || is_inside(CHECKPOINTS)
        || is_inside("models")
}
