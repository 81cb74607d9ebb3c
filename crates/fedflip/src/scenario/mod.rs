//! A scenario: all that decides a run, as a TOML file and as one checked value.
//!
//! Equal scenarios print to equal bytes, and what is printed reads back as an equal scenario: a run folder
//! keeps its scenario and is compared by it.
//!
//! # Layout
//!
//! - here: the value, and how it is read; `for_run`: what a run takes from it.
//! - `defaults`: the paper's settings of each task, ours where it has none; what `auto` brings.
//! - `keys`: every key with its comment and its way in and out; what is printed and documented comes from it.
//! - `server`: what the server does with the sum of the updates.
//! - `value`: values, their types and ranges.
//! - `over`: the keys and values of a sweep.
//! - `entries`: a file and `--set` as a list of keys, values and places.
//! - `resolve`: from that list to a scenario, or to a refusal.
//! - `print`: as TOML, with or without comments, and as JSON.
//! - `error`: refusals with their place.

mod defaults;
#[cfg(test)]
mod docs;
mod entries;
mod error;
mod for_run;
mod keys;
mod over;
mod print;
mod resolve;
mod server;
#[cfg(test)]
mod tests;
mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_engine::Aggregation;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profile::{DeviceType, Hardware};
use fedflip_fleet::{Fleet, Gflop, Mbit, Mbps, Secs};
use fedflip_learn::Encoding;
use fedflip_learn::task::{Sharing, Task};
use fedflip_plan::{Constants, Quiet, Scheme};

pub(crate) use self::defaults::QUIET_EVERY;
pub(crate) use self::error::ScenarioError;
pub(crate) use self::over::{Axis, Point, points};
use self::server::Server;
pub(crate) use self::value::Value;
use crate::error::CliError;

/// All that decides a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scenario {
    /// Of everything that chance decides, but for the data.
    pub seed: u64,
    pub task: Task,
    pub data: Data,
    pub fleet: FleetSource,
    /// f_tot: what those who take part share.
    pub band: Mbps,
    pub train: Train,
    pub server: Server,
    pub update: Update,
    pub plan: Planning,
    pub pilot: Pilots,
    pub round: Round,
    pub world: World,
    pub stop: Stop,
    pub record: Record,
}

/// What devices learn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Data {
    pub seed: u64,
    /// Does not matter for made-up data, and is then the default.
    pub sharing: Sharing,
    pub test_samples_max: usize,
}

/// Where the devices and their times come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FleetSource {
    MadeUp(MadeUp),
    /// `name` is as the scenario has it. Held behind an `Arc`: a fleet may have millions of devices.
    File {
        name: String,
        fleet: Arc<Fleet>,
    },
}

/// A fleet made from device types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MadeUp {
    pub devices: usize,
    pub types: Vec<DeviceType>,
    pub payload: Mbit,
    pub work: Gflop,
}

/// How devices train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Train {
    /// As written; training itself is in f32.
    pub learning_rate: f64,
    pub batch: usize,
    pub iterations: usize,
}

/// How devices send what they have learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Update {
    pub encoding: Encoding,
}

impl Update {
    /// The paper's: numbers as they are.
    fn paper() -> Self {
        Self { encoding: Encoding::F32 }
    }
}

/// How q is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planning {
    pub scheme: Scheme,
    pub constants: Constants,
    /// Σ a²/q that `auto` allows; under another scheme it does not matter, and is then the default.
    pub noise: f64,
    /// Σ a²/q of quiet rounds, where there are any.
    pub quiet_noise: Option<f64>,
    /// One in so many is; without quiet rounds it does not matter, and is then the default.
    pub quiet_every: u64,
}

impl Planning {
    /// Quiet rounds, if there are any.
    pub(crate) fn quiet(&self) -> Option<Quiet> {
        self.quiet_noise.map(|variance| Quiet { variance, every: self.quiet_every })
    }
}

/// How α and β are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pilots {
    /// F_s.
    pub loss: f64,
    pub seeds: u64,
    pub rounds_max: u64,
    /// Whether training goes on from them.
    pub keep: bool,
}

/// What a round is like, whoever takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    pub allocation: Division,
    pub aggregation: Aggregation,
    pub overhead: Secs,
    pub deadline: Option<Secs>,
    /// Share of the deadline that the division of the bandwidth keeps free.
    pub deadline_margin: f64,
}

/// How the simulated world departs from the fleet's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct World {
    /// Coefficient of variation of a device's compute time.
    pub compute_jitter: f64,
    /// Standard deviation of a link's block fading.
    pub fading_db: f64,
    /// Probability that a device that takes part vanishes mid-round.
    pub dropout: f64,
}

/// When a run ends; whatever comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop {
    pub target_accuracy: f64,
    /// Of a pilot: counts instead of the accuracy.
    pub target_loss: Option<f64>,
    pub rounds_max: u64,
    pub virtual_hours_max: Option<f64>,
    pub real_hours_max: Option<f64>,
}

/// What is kept on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub evaluate_every: u64,
    pub checkpoint: Secs,
}

impl Scenario {
    /// The scenario in the file at `path` (`-` is standard input), with what `--set` says instead.
    pub(crate) fn read(path: &Path, overrides: &[String]) -> Result<Self, CliError> {
        Source::read(path)?.scenario(overrides)
    }
}

/// A scenario's text, of which scenarios are made that differ in what is set: standard input can be read but
/// once.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    text: String,
    /// What refusals call it.
    file: String,
    /// Where its relative paths start.
    folder: PathBuf,
}

impl Source {
    /// The file at `path` (`-` is standard input).
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let (text, file) = entries::read(path)?;
        Ok(Self { text, file, folder: path.parent().unwrap_or(Path::new("")).to_owned() })
    }

    /// What `compare` takes without a file: made-up data and the paper's fleet.
    pub(crate) fn embedded() -> Self {
        let text = "[task]\nname = \"synthetic\"\n".to_owned();
        Self { text, file: "the embedded scenario".to_owned(), folder: PathBuf::new() }
    }

    /// With what `--set` says instead.
    pub(crate) fn scenario(&self, overrides: &[String]) -> Result<Scenario, CliError> {
        self.resolve(overrides, &[])
    }

    /// At a point of a sweep, which beats `--set`.
    pub(crate) fn at(&self, overrides: &[String], point: &Point) -> Result<Scenario, CliError> {
        self.resolve(overrides, &point.entries())
    }

    fn resolve(&self, overrides: &[String], more: &[entries::Entry]) -> Result<Scenario, CliError> {
        let mut given = entries::from_toml(&self.text, &self.file)?;
        for text in overrides {
            given.push(entries::from_override(text)?);
        }
        given.extend_from_slice(more);
        resolve::resolve(given, &self.file, &self.folder)
    }
}

impl MadeUp {
    fn hardware(&self) -> Hardware<'_> {
        Hardware { types: &self.types, payload: self.payload, work: self.work }
    }
}
