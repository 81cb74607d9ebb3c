//! What a run's state is made of.

use fedflip_fleet::Metrics;
use fedflip_learn::layer::ParamSpec;
use fedflip_plan::Expected;
use fedflip_record::{End, Header, Round};
use serde::{Deserialize, Serialize};

use crate::coin::{KEY_BYTES, RUN_BYTES};
use crate::wire::numbers::VectorDigest;

/// What a run's folder is founded on.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run_toml: &'a str,
    /// Keys of it that may differ when a run goes on. A run that ended at a cap goes on if one of them has
    /// changed.
    pub free_keys: &'a [&'a str],
    /// The arrays of the model, one after the other.
    pub params: &'a [(String, ParamSpec)],
    /// The names of what else the server remembers: vectors as long as the model.
    pub memory: &'a [&'a str],
}

/// A device that has a place in the fleet, for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnrolledDevice {
    pub slot: usize,
    pub name: String,
    /// The public half of its coin.
    pub coin: [u8; KEY_BYTES],
    pub samples: f64,
    /// Of one round, as it measured itself when it came.
    pub compute_secs: f64,
    /// Of one round: what it sends, as it measured when it came.
    pub comm_mbit: f64,
}

/// A plan, with all it takes to use it again to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPlan {
    pub after_round: u64,
    pub secs: f64,
    /// Why there is a new plan, in words.
    pub reason: String,
    pub scheme: String,
    /// α and β, where there are any.
    pub constants: Option<[f64; 2]>,
    pub q: Vec<f64>,
    /// What the plan takes each device's availability to be: its coin is q over this.
    pub availability: Vec<f64>,
    /// a/q.
    pub weights: Vec<f64>,
    /// The same of quiet rounds, where there are any.
    pub quiet: Option<StoredQuiet>,
    /// The fleet that was planned for.
    pub fleet_csv: Vec<u8>,
    /// q and a/q of all rounds, by name.
    pub plan_csv: Vec<u8>,
    pub expected: Expected,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredQuiet {
    pub q: Vec<f64>,
    /// a/q.
    pub weights: Vec<f64>,
}

/// What became of a device's part in a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Its update is in the model.
    Accepted {
        /// SHA-256 of the update's bytes.
        digest: VectorDigest,
        bytes: u64,
        train_loss: f64,
    },
    Lost {
        /// Such as `deadline`.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub record: &'a Round,
    /// Time since the run began, after it.
    pub secs: f64,
    /// The model after it; none if nobody moved it.
    pub model: Option<&'a [f32]>,
    /// What else the server remembers with that model, in the order of the names that the run was founded on.
    pub memory: &'a [&'a [f32]],
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<&'a Metrics>,
    /// Of everybody in the cohort, in its order.
    pub fates: &'a [(usize, Fate)],
    /// What is known of the devices by now, as JSON.
    pub measures: &'a str,
    /// The sizes of devices' updates by now, as JSON.
    pub norms: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    pub run_id: [u8; RUN_BYTES],
    pub round: u64,
    pub secs: f64,
    /// The model; none while it is the one that the scenario begins with.
    pub model: Option<Vec<f32>>,
    /// What else the server remembered with that model, in the order of the names; nothing without a model.
    pub memory: Vec<Vec<f32>>,
    /// The metrics of that model, if it was evaluated.
    pub evaluated: Option<Metrics>,
    pub end: Option<End>,
    /// In the order of their slots.
    pub devices: Vec<EnrolledDevice>,
    pub plan: Option<StoredPlan>,
    /// The first line of the records, once there was a plan.
    pub header: Option<Header>,
    /// As they were given with the last commit.
    pub measures: Option<String>,
    /// The sizes of devices' updates, likewise.
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
