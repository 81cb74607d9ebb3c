//! The sections of a scenario, with the defaults that no task changes.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_engine::Aggregation;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profile::{DeviceType, Hardware};
use fedflip_fleet::{Fleet, Gflop, Mbit, Secs, Weights};
use fedflip_learn::Encoding;
use fedflip_learn::metrics::{self, Direction};
use fedflip_learn::own::OwnDigests;
use fedflip_learn::sgd::{LocalOptions, SgdSettings, Steps};
use fedflip_learn::task::{Sharing, Task};
use fedflip_plan::{Constants, DEFAULT_VARIANCE, GradientBounds, PlanError, Quiet, Scheme};
use fedflip_record::{Target, TargetMode};

use crate::error::ScenarioError;

/// The number of rounds from one quiet round to the next; a quiet round takes about twice as long as another.
pub const QUIET_EVERY: u64 = 20;

/// A number that the task's row has for a key; checks refuse what is not a number.
fn number(task: Task, key: &str) -> f64 {
    task.row().default_number(key).unwrap_or(f64::NAN)
}

/// What devices learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    pub seed: u64,
    /// The partition of the data. Synthetic data are not divided and have the default.
    pub sharing: Sharing,
    /// The share of the training samples that is held out to evaluate on during the run.
    pub validation: f64,
    pub test_samples_max: usize,
    /// What aggregation weights are proportional to.
    pub weights: Weights,
    pub own: OwnFiles,
}

/// Files of the user's own, and the numbers that normalise their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnFiles {
    /// Names and patterns, as they are written.
    pub train: Vec<String>,
    pub test: Vec<String>,
    /// The folder from which relative names start.
    pub folder: PathBuf,
    pub place: Where,
    pub mean: Vec<f64>,
    pub std: Vec<f64>,
    /// The names of the features of tables; empty if nobody names them.
    pub columns: Vec<String>,
    /// The characters of texts; empty for the symbols of the Shakespeare task.
    pub alphabet: String,
    /// What a stored scenario knows its samples by.
    pub digests: OwnDigests,
}

/// Where training samples are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// The samples are on this machine.
    #[default]
    Here,
    /// On the devices, which do not show them to anybody.
    Devices,
}

/// Where models are evaluated, and on which samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluate {
    pub place: Evaluator,
    /// The share of its samples that a device evaluates on.
    pub holdout: f64,
    /// The chance that a device evaluates a model.
    pub probability: f64,
}

impl Default for Evaluate {
    fn default() -> Self {
        Self { place: Evaluator::Server, holdout: 0.1, probability: 1.0 }
    }
}

/// Whether the server or the devices evaluate models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    Server,
    Devices,
}

/// Where the devices and their times come from.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetSource {
    Generated(GeneratedFleet),
    /// `name` is the path in the scenario, also where a program has the fleet in memory. The fleet is shared because it may
    /// have millions of devices.
    File {
        name: String,
        fleet: Arc<Fleet>,
        in_memory: bool,
    },
}

impl FleetSource {
    /// What people know a given fleet by; none of a fleet that the scenario makes.
    pub fn given_name(&self) -> Option<&str> {
        match self {
            Self::Generated(_) => None,
            Self::File { in_memory: true, .. } => Some("the fleet"),
            Self::File { name, .. } => Some(name),
        }
    }
}

/// A fleet made from device types.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedFleet {
    pub devices: usize,
    pub types: Vec<DeviceType>,
    pub payload: Mbit,
    /// The work of a round, whatever a device holds.
    pub work: Gflop,
    /// The work in addition for each sample of a device.
    pub sample_work: Gflop,
}

/// How devices train. Numbers are as the scenario has them, in f64; training uses f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Train {
    pub learning_rate: f64,
    pub batch: usize,
    pub steps: Steps,
    pub momentum: f64,
    pub weight_decay: f64,
    pub proximal: f64,
}

impl Train {
    /// The settings of the learner.
    pub fn sgd(&self) -> SgdSettings {
        SgdSettings {
            learning_rate: self.learning_rate as f32,
            batch: self.batch,
            steps: self.steps,
            options: LocalOptions {
                momentum: self.momentum as f32,
                weight_decay: self.weight_decay as f32,
                proximal: self.proximal as f32,
            },
        }
    }
}

/// How devices send what they have learnt. By default, as in the paper, numbers are sent as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Update {
    pub encoding: Encoding,
}

/// How q is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Planning {
    pub scheme: Scheme,
    pub constants: Constants,
    /// The sampling variance Σ a²/q that `auto` allows.
    pub variance: f64,
    /// The sampling variance of quiet rounds, if there are any.
    pub quiet_variance: Option<f64>,
    /// The number of rounds from one quiet round to the next.
    pub quiet_every: u64,
    /// G_n of `luo` in the order of the fleet; empty where all are 1.
    pub luo_norms: Vec<f64>,
    /// The offset B of the scheme `luo`.
    pub luo_offset: f64,
}

impl Planning {
    pub(crate) fn of(task: Task) -> Result<Self, ScenarioError> {
        let constants = Constants::new(number(task, "plan.alpha"), number(task, "plan.beta"))?;
        let (scheme, variance, quiet_every) = (Scheme::Auto, DEFAULT_VARIANCE, QUIET_EVERY);
        let (luo_norms, luo_offset) = (Vec::new(), 0.0);
        Ok(Self { scheme, constants, variance, quiet_variance: None, quiet_every, luo_norms, luo_offset })
    }

    /// What `luo` knows of the devices' gradients.
    pub fn gradient_bounds(&self) -> Result<GradientBounds, PlanError> {
        GradientBounds::new(&self.luo_norms, self.luo_offset)
    }

    /// Quiet rounds, if there are any.
    pub fn quiet(&self) -> Option<Quiet> {
        self.quiet_variance.map(|variance| Quiet { variance, every: self.quiet_every })
    }
}

/// How α and β are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pilots {
    /// The loss F_s at which a pilot ends.
    pub loss: f64,
    pub seeds: u64,
    pub rounds_max: u64,
    /// Whether training continues from the pilots.
    pub keep: bool,
}

impl Pilots {
    pub(crate) fn of(task: Task) -> Self {
        Self { loss: number(task, "pilot.loss"), seeds: 3, rounds_max: 2_000, keep: false }
    }
}

/// What a round is like, whoever takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    pub allocation: Division,
    pub aggregation: Aggregation,
    pub deadline: Option<Secs>,
    /// Share of the deadline that the division of the bandwidth keeps free.
    pub deadline_margin: f64,
    /// How many devices work at a time under a scheme without rounds, where that does not follow from the scheme.
    pub concurrency: Option<usize>,
}

impl Default for Round {
    fn default() -> Self {
        let (allocation, aggregation) = (Division::Adaptive, Aggregation::Unbiased);
        Self { allocation, aggregation, deadline: None, deadline_margin: 0.1, concurrency: None }
    }
}

/// When a run ends: whichever comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    pub target: Target,
    pub rounds_max: u64,
    pub virtual_hours_max: Option<f64>,
    pub real_hours_max: Option<f64>,
}

impl Stop {
    pub(crate) fn of(task: Task) -> Self {
        let metric = task.metrics().first().copied().unwrap_or_default();
        let falls = metrics::metric(metric).is_some_and(|metric| metric.info.better == Direction::Smaller);
        let mode = if falls { TargetMode::Min } else { TargetMode::Max };
        // Where the task's row has no target for its first metric, one has to be given.
        let at = if task.is_external() { 1.0 } else { number(task, &format!("stop.target_{metric}")) };
        let target = Target { metric: metric.to_owned(), at, mode };
        Self { target, rounds_max: 20_000, virtual_hours_max: None, real_hours_max: None }
    }
}

/// When models are evaluated and checkpoints are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    pub evaluate_every: u64,
    pub checkpoint: Secs,
}

impl Record {
    pub(crate) fn of(task: Task) -> Result<Self, ScenarioError> {
        let checkpoint = Secs::new(10.0).map_err(ScenarioError::out_of_range("record.checkpoint_secs"))?;
        Ok(Self { evaluate_every: number(task, "record.evaluate_every") as u64, checkpoint })
    }
}

impl GeneratedFleet {
    pub(crate) fn hardware(&self) -> Hardware<'_> {
        let Self { types, payload, work, sample_work, .. } = self;
        Hardware { types, payload: *payload, work: *work, sample_work: *sample_work }
    }
}
