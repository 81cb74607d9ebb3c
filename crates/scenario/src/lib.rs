//! A scenario: everything that decides a run, as a TOML file and as one checked value.
//!
//! Equal scenarios print to equal bytes, and what is printed reads back as an equal scenario: a run folder
//! keeps its scenario and is compared by it.
//!
//! # Layout
//!
//! - here: the value, and how it is read; `for_run`: what a run takes from it.
//! - `defaults`: the paper's settings of each task, ours where it has none; `preset`: bundles of settings.
//! - `keys`: every key with its comment and its way in and out; what is printed and documented comes from it.
//! - `sections`: the sections of a scenario; `server`: what the server does with the sum of the updates.
//! - `value`: values, their types and ranges; `lists`: lists of them.
//! - `evaluate`: whether devices can evaluate models.
//! - `own`: what follows from files of the user's own; `suggest`: a scenario for such files.
//! - `over`: the keys and values of a sweep.
//! - `entries`: a file and `--set` as a list of keys, values and places.
//! - `scheme`: the scheme of a name, with the file that it may need.
//! - `initial`: the first model from a file, and external tasks; `in_memory`: values of a program in the place of files.
//! - `target`: the target of a run, which several keys name.
//! - `check`: whether sections and keys exist; `resolve`: from the list to a scenario, or to a refusal.
//! - `print`: as TOML, with or without comments, and as JSON.
//! - `error`: refusals with their place.

mod check;
mod costs;
mod defaults;
#[cfg(test)]
mod docs;
mod entries;
mod error;
mod evaluate;
mod for_run;
mod in_memory;
mod initial;
mod keys;
mod lists;
mod over;
mod own;
mod preset;
mod print;
mod resolve;
mod scheme;
mod sections;
mod server;
mod suggest;
mod target;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_fleet::{Conditions, Mbps};
use fedflip_learn::task::Task;

pub use self::costs::{CostSettings, Radio};
pub use self::error::{KeyError, Place, ScenarioError};
pub use self::in_memory::InMemory;
pub use self::initial::InitialModel;
pub use self::over::{Axis, Point, points};
pub use self::preset::Preset;
pub use self::resolve::GENERATED_FLEET;
pub use self::scheme::read_scheme;
pub use self::sections::QUIET_EVERY;
pub use self::sections::{
    Data, Evaluate, Evaluator, FleetSource, GeneratedFleet, OwnFiles, Pilots, Planning, Record, Round, Stop,
    Train, Update, Where,
};
pub use self::server::{Kind, Server};
pub use self::suggest::{OwnSuggestion, OwnTemplate, SuggestError};
pub use self::value::Value;

/// Keys that may change when a simulated run resumes: they decide when to stop and how often to save, not what the records
/// say of any round.
pub const FREE_KEYS: &[&str] = &[
    // Files may move: their digests tell whether the samples are the same.
    "data.train",
    "data.test",
    "stop.rounds_max",
    "stop.virtual_hours_max",
    "stop.real_hours_max",
    "record.checkpoint_secs",
    "server.update_norm_max",
    "pilot.rounds_max",
];

/// Keys that may change when a deployed run resumes: targets, caps, deadlines, records, and the weights, which the next
/// plan takes up. Rounds depend on real devices, so
/// another deadline changes no number that could be computed again.
pub const DEPLOYED_FREE_KEYS: &[&str] = &[
    "data.train",
    "data.test",
    "stop.metric",
    "stop.at",
    "stop.mode",
    "stop.rounds_max",
    "stop.virtual_hours_max",
    "stop.real_hours_max",
    "round.deadline_secs",
    "round.deadline_margin",
    "data.weights",
    "record.evaluate_every",
    "record.checkpoint_secs",
    "server.update_norm_max",
    "pilot.rounds_max",
];

/// Everything that decides a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The seed of all random streams except those of the data.
    pub seed: u64,
    pub task: Task,
    /// The first model, from a file; shared because it may be large.
    pub initial: Option<Arc<InitialModel>>,
    /// The table `[task.settings]` of an external task: keys, and values as TOML text.
    pub external_settings: BTreeMap<String, String>,
    pub data: Data,
    pub evaluate: Evaluate,
    pub fleet: FleetSource,
    /// The bandwidth f_tot that the cohort shares.
    pub bandwidth: Mbps,
    pub costs: CostSettings,
    pub train: Train,
    pub server: Server,
    pub update: Update,
    pub plan: Planning,
    pub pilot: Pilots,
    pub round: Round,
    pub world: Conditions,
    pub stop: Stop,
    pub record: Record,
}

impl Scenario {
    /// The scenario of a task with a preset; all other keys have their defaults.
    pub fn new(task: Task, preset: Preset) -> Result<Self, ScenarioError> {
        Source::of_task(task, preset).scenario(&[])
    }

    /// The scenario in a TOML text; relative paths start in the working directory.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        Source::of_text(text, "the scenario").scenario(&[])
    }

    /// The scenario in the file at `path` (`-` is standard input), with the overrides of `--set`.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Source::read(path)?.scenario(overrides)
    }
}

/// The section, the name and the meaning of every key that a scenario may set.
pub fn key_names() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    keys::all()
        .filter(|key| !matches!(key.shown, keys::Shown::Hidden))
        .map(|key| (key.section, key.name, key.about))
}

/// The text of a scenario, from which several scenarios with different overrides can be made. It is kept because standard
/// input can be read only once.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    /// The name of the text in error messages.
    file: String,
    /// The folder from which relative paths start.
    folder: PathBuf,
    /// What takes the place of files.
    memory: InMemory,
    /// The preset of a text that names none.
    preset: Preset,
}

impl Source {
    /// The file at `path` (`-` is standard input).
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let (text, file) = entries::read(path)?;
        Ok(Self {
            text,
            file,
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            memory: InMemory::default(),
            preset: Preset::default(),
        })
    }

    /// The scenario that `compare` takes without a file: synthetic data and the paper's fleet.
    pub fn embedded() -> Self {
        Self::of_text("[task]\nname = \"synthetic\"\n", "the embedded scenario")
    }

    /// The task and the preset, and nothing else.
    fn of_task(task: Task, preset: Preset) -> Self {
        let text = format!("preset = \"{}\"\n[task]\nname = \"{}\"\n", preset.name(), task.name());
        Self::of_text(&text, "the scenario")
    }

    /// The same text, with another preset if it names none.
    #[must_use]
    pub fn with_default_preset(self, preset: Preset) -> Self {
        Self { preset, ..self }
    }

    /// The same text, with values of the program in the place of files.
    #[must_use]
    pub fn with_memory(self, memory: InMemory) -> Self {
        Self { memory, ..self }
    }

    /// A text, and its name in error messages.
    pub fn of_text(text: &str, name: &str) -> Self {
        Self {
            text: text.to_owned(),
            file: name.to_owned(),
            folder: PathBuf::new(),
            memory: InMemory::default(),
            preset: Preset::default(),
        }
    }

    /// The scenario with the overrides of `--set`.
    pub fn scenario(&self, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        self.resolve(overrides, &[])
    }

    /// The scenario at a point of a sweep, which beats `--set`.
    pub fn at(&self, overrides: &[String], point: &Point) -> Result<Scenario, ScenarioError> {
        self.resolve(overrides, &point.entries())
    }

    fn resolve(&self, overrides: &[String], more: &[entries::Entry]) -> Result<Scenario, ScenarioError> {
        let mut given = entries::from_toml(&self.text, &self.file)?;
        for text in overrides {
            given.push(entries::from_override(text)?);
        }
        given.extend_from_slice(more);
        resolve::resolve(given, &self.file, (&self.folder, &self.memory), self.preset)
    }
}
