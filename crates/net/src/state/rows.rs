//! The parts of a run's state.

use fedflip_fleet::Metrics;
use fedflip_learn::layer::ParamSpec;
use fedflip_plan::Expected;
use fedflip_record::{End, Header, RecordedCosts, Round, Target};
use serde::{Deserialize, Serialize};

use crate::coin::{KEY_BYTES, RUN_BYTES};
use crate::wire::numbers::VectorDigest;

/// The settings of a new run.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run_toml: &'a str,
    /// Keys of `run_toml` that may differ when a run resumes. A run that ended at a cap continues if one of them changed.
    pub free_keys: &'a [&'a str],
    /// The target at which the run ends.
    pub stop: Option<&'a Target>,
    /// The arrays of the model, one after the other.
    pub params: &'a [(String, ParamSpec)],
    /// The names of the vectors that the server keeps with the model, which are as long as the model.
    pub memory: &'a [&'a str],
}

/// A device with a slot in the fleet, which it keeps for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnrolledDevice {
    pub slot: usize,
    pub name: String,
    /// The public half of its coin.
    pub coin: [u8; KEY_BYTES],
    pub samples: f64,
    /// The compute time of one round, as the device measured it when it enrolled.
    pub compute_secs: f64,
    /// The load of one upload, as the server measured it when the device enrolled.
    pub comm_mbit: f64,
}

/// A plan, complete enough to be used again to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPlan {
    pub after_round: u64,
    pub secs: f64,
    /// The reason for a new plan, in words.
    pub reason: String,
    pub scheme: String,
    /// α and β, where there are any.
    pub constants: Option<[f64; 2]>,
    /// What the plan says of each device, by slot.
    pub devices: Vec<PlannedDevice>,
    /// The fleet of the plan.
    pub fleet_csv: Vec<u8>,
    /// q and a/q of all rounds, by name.
    pub plan_csv: Vec<u8>,
    pub expected: Expected,
    /// What the plan counts on.
    pub costs: RecordedCosts,
}

/// A device in a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedDevice {
    pub q: f64,
    /// The probability of the device's coin is q over this.
    pub availability: f64,
    /// The aggregation weight a/q of the device.
    pub weight: f64,
    /// q and a/q of quiet rounds, if there are any.
    pub quiet: Option<[f64; 2]>,
}

/// The outcome of a device's part in a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// The model contains its update.
    Accepted {
        /// SHA-256 of the update's bytes.
        digest: VectorDigest,
        bytes: u64,
        train_loss: f64,
    },
    Lost {
        /// The reason as one word, such as `deadline`.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub record: &'a Round,
    /// Time since the run began, at the end of the round.
    pub secs: f64,
    /// The model after the round; none if it did not change.
    pub model: Option<&'a [f32]>,
    /// The vectors that the server keeps with that model, in the order of their names.
    pub memory: &'a [&'a [f32]],
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<&'a Metrics>,
    /// The outcomes of the cohort, in its order.
    pub fates: &'a [(usize, Fate)],
    /// The measurements of all devices, as JSON.
    pub measures: &'a str,
    /// The norms of devices' updates, as JSON.
    pub norms: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    pub run_id: [u8; RUN_BYTES],
    pub round: u64,
    pub secs: f64,
    /// The model; none while it is the first one.
    pub model: Option<Vec<f32>>,
    /// The vectors that the server kept with that model, in the order of their names; empty without a model.
    pub memory: Vec<Vec<f32>>,
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<Metrics>,
    pub end: Option<End>,
    /// In the order of their slots.
    pub devices: Vec<EnrolledDevice>,
    pub plan: Option<StoredPlan>,
    /// The first line of the records, once there was a plan.
    pub header: Option<Header>,
    /// The measurements of the last commit.
    pub measures: Option<String>,
    /// The norms of updates of the last commit.
    pub norms: Option<String>,
}

/// A round, as it was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRound {
    pub record: Round,
    /// The number of its plan, counted from 1.
    pub plan: u64,
    /// Time since the run began, at the end of the round.
    pub secs: f64,
    /// The last round up to this one that changed the model; 0 if none did.
    pub model_round: u64,
    /// SHA-256 of the model and of the memory that is kept with it; none before the first update.
    pub model_sha256: Option<VectorDigest>,
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<Metrics>,
}

/// A refusal or another event that is kept for later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    pub round: u64,
    /// The device that caused it, if it is known.
    pub device: Option<String>,
    pub reason: String,
}

/// The model after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredModel {
    pub round: u64,
    pub numbers: Vec<f32>,
    /// The vectors that the server keeps with the model, in the order of their names.
    pub memory: Vec<Vec<f32>>,
    pub sha256: VectorDigest,
}
