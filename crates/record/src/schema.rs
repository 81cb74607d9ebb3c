//! The lines of `records.jsonl`: a header, a line a round and a new plan, and at last why the run ended.

use serde::{Deserialize, Serialize};

use crate::text::{optional_word, word};

/// Of the format. Readers refuse others than theirs; writers change it with the meaning of any field.
pub const VERSION: u32 = 1;

/// A line of records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first one.
    Header(Header),
    /// One a round.
    Round(Round),
    /// Between two rounds of a deployed run: from here on another plan holds.
    Replan(Replan),
    /// The last one of a run that has ended; a run that was interrupted has none.
    End(End),
}

/// What the records are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub version: u32,
    /// What wrote them.
    #[serde(deserialize_with = "word")]
    pub fedflip: String,
    /// Of the task, such as `mnist-cnn`.
    #[serde(deserialize_with = "word")]
    pub task: String,
    /// How q was chosen, such as `exact`.
    #[serde(deserialize_with = "word")]
    pub scheme: String,
    /// Of the run.
    pub seed: u64,
    /// How many devices there are.
    pub devices: usize,
    /// Of the model.
    pub parameters: usize,
    /// Of the band, in Mbit/s.
    pub bandwidth_mbps: f64,
    /// At which the run ends.
    pub target_accuracy: Option<f64>,
    /// At which the run ends instead, if it is a pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_loss: Option<f64>,
    /// What the plan expects of a round: Σ q, over usual and quiet rounds.
    pub expected_participants: f64,
    /// How many rounds the plan expects, where it has constants.
    pub expected_rounds: Option<f64>,
    /// What the plan expects of a round, in seconds: E[T̂].
    pub expected_round_secs: Option<f64>,
    /// What there is to say of a run on real devices; a simulated one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
}

/// A run on real devices: its times are by the clock on the wall, and not virtual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployed {
    /// What plans are made with; a pilot has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constants: Option<UsedConstants>,
}

/// α and β, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsedConstants {
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
    /// Where they come from.
    pub source: ConstantsSource,
}

/// Where α and β come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstantsSource {
    /// The scenario gives them.
    Scenario,
    /// Pilots on the devices measured them.
    Pilots,
}

/// A round, after it is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Counted from 1.
    pub round: u64,
    /// Time at its start, since the run began: virtual, or by the clock on the wall where devices are real.
    pub start_secs: f64,
    /// How long it took.
    pub round_secs: f64,
    /// Positions of those who took part, ascending; nobody in an empty round.
    pub cohort: Vec<usize>,
    /// Their shares of the band, in Mbit/s.
    pub mbps: Vec<f32>,
    /// How long they computed and sent, where that is not what the fleet says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute_secs: Vec<f32>,
    /// See `compute_secs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upload_secs: Vec<f32>,
    /// Those who took part and did not report: the round's step is biased by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    /// The median norm of the updates, where the aggregation limits norms by what is usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_norm: Option<f64>,
    /// Mean loss of the local training; none in a round without updates.
    pub train_loss: Option<f64>,
    /// Of the model after the round, on the test samples, where it was evaluated.
    pub loss: Option<f64>,
    /// See `loss`.
    pub accuracy: Option<f64>,
}

/// A plan that took another's place. The first one is in the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replan {
    /// The last round of the plan before.
    pub after_round: u64,
    /// Time since the run began.
    pub secs: f64,
    /// Why, in words.
    #[serde(deserialize_with = "word")]
    pub reason: String,
    /// How many devices there are now.
    pub devices: usize,
    /// Positions of devices that are not part of the plan, because they keep failing to deliver: the shares of the
    /// data are those of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benched: Vec<usize>,
    /// How many of them have a q that differs by more than 1 % from what it was.
    pub changed: usize,
    /// What the plan expects of a round: Σ q, over usual and quiet rounds.
    pub expected_participants: f64,
    /// How many rounds a whole run under this plan would take, where there are constants.
    pub expected_rounds: Option<f64>,
    /// What the plan expects of a round, in seconds: E[T̂].
    pub expected_round_secs: Option<f64>,
}

/// A device that took part and did not report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Position in the fleet.
    pub device: usize,
    /// Such as `vanished` or `deadline`.
    #[serde(deserialize_with = "word")]
    pub reason: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub reason: EndReason,
    /// Rounds in all.
    pub rounds: u64,
    /// Time in all; see [`Round::start_secs`].
    pub secs: f64,
    /// Of the model at the end, where its last round was not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// See `loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// More about it, where there is more to say.
    #[serde(default, deserialize_with = "optional_word", skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl EndReason {
    /// Whether more was not allowed, rather than not wanted or not possible.
    pub fn is_cap(self) -> bool {
        matches!(self, Self::RoundsMax | Self::VirtualTimeMax)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The target accuracy was reached.
    TargetAccuracy,
    /// The target loss was reached: a pilot.
    TargetLoss,
    /// So many rounds were allowed.
    RoundsMax,
    /// So much virtual time was allowed.
    VirtualTimeMax,
    /// The model left the numbers.
    Diverged,
}
