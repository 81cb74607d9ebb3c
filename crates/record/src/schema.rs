//! The lines of `records.jsonl`: a header, the first model's evaluation, a line for each round and each new plan, and the
//! end.

use fedflip_fleet::{MetricInfo, Metrics};
use serde::{Deserialize, Serialize};

use crate::changed::Changed;
use crate::costs::RecordedCosts;
use crate::estimated::Estimated;
use crate::recount::Recount;
use crate::target::Target;
use crate::text::{optional_word, word};

/// The version of the format. Readers refuse other versions; a change of any field's meaning changes the version.
pub const VERSION: u32 = 3;

/// A line of records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first line of the file.
    Header(Header),
    /// The evaluation of the first model, before round 1.
    Initial(Initial),
    /// One line for each round.
    Round(Round),
    /// Between two rounds of a deployed run: from here on another plan holds.
    Replan(Replan),
    /// Between two rounds of a deployed run: from here on other settings hold.
    Changed(Changed),
    /// Between two rounds of a deployed run: devices hold more or fewer samples.
    Recount(Recount),
    /// The last one of a run that has ended; a run that was interrupted has none.
    End(End),
}

/// What the records are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the records: [`VERSION`].
    pub version: u32,
    /// The program that wrote the records, with its version.
    #[serde(deserialize_with = "word")]
    pub fedflip: String,
    /// Of the task, such as `mnist-cnn`.
    #[serde(deserialize_with = "word")]
    pub task: String,
    /// How q was chosen, such as `exact`.
    #[serde(deserialize_with = "word")]
    pub scheme: String,
    /// The seed of the run.
    pub seed: u64,
    /// How many devices there are.
    pub devices: usize,
    /// The number of parameters of the model.
    pub parameters: usize,
    /// The bandwidth that the devices share, in Mbit/s.
    pub bandwidth_mbps: f64,
    /// What rounds cost besides.
    #[serde(default, skip_serializing_if = "RecordedCosts::is_paper")]
    pub costs: RecordedCosts,
    /// The metrics of an evaluation; the first one is the headline.
    pub metrics: Vec<MetricInfo>,
    /// The target at which the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Target>,
    /// Whether the run is a pilot, which measures α and β.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pilot: bool,
    /// What the plan expects of a round: Σ q, over usual and quiet rounds.
    pub expected_participants: f64,
    /// How many rounds the plan expects, where it has constants.
    pub expected_rounds: Option<f64>,
    /// What the plan expects of a round, in seconds: E[T̂].
    pub expected_round_secs: Option<f64>,
    /// Whether the program whose scheme drew the cohorts promises that the sum is unbiased; none of fedflip's own schemes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbiased: Option<bool>,
    /// What there is to say of a run on real devices; a simulated one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Deployed>,
}

/// The most metrics of a header. Readers hold a number for each of them and each evaluation.
pub const METRICS_MAX: usize = 64;

impl Header {
    /// What is wrong with the header's metrics, if anything is.
    pub(crate) fn problem(&self) -> Option<String> {
        let metrics = &self.metrics;
        let is_repeated =
            |place: &usize| metrics[..*place].iter().any(|other| other.name == metrics[*place].name);
        if metrics.len() > METRICS_MAX {
            return Some(format!("{} metrics are declared; there may be {METRICS_MAX}", metrics.len()));
        }
        let place = (0..metrics.len()).find(is_repeated)?;
        Some(format!("the metric {} is declared twice", metrics[place].name))
    }
}

/// The evaluation of the model before the first round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Initial {
    /// The time at which the run begins: later than 0 if the run continues from pilots.
    pub secs: f64,
    /// The metrics of the first model.
    pub metrics: Metrics,
    /// How sure the metrics are, where devices evaluated the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
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
    /// The constant α of the round model.
    pub alpha: f64,
    /// The constant β of the round model.
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
    /// The round, counted from 1.
    pub round: u64,
    /// Time at its start, since the run began: virtual, or by the clock on the wall where devices are real.
    pub start_secs: f64,
    /// How long it took.
    pub round_secs: f64,
    /// The part of it until all devices had the model; 0 where downloads cost nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub download_secs: f64,
    /// The part of it after the downloads until all devices that were asked had answered; 0 where nobody is asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_secs: f64,
    /// The positions of the cohort's devices, ascending; nobody in an empty round.
    pub cohort: Vec<usize>,
    /// Their shares of the bandwidth, in Mbit/s.
    pub mbps: Vec<f32>,
    /// The time until they began to upload, and how long they uploaded, where that is not what the fleet says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compute_secs: Vec<f32>,
    /// The upload time of each update in seconds, in the order of `compute_secs`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upload_secs: Vec<f32>,
    /// The steps of the server since each of the cohort began, where devices work without rounds: then a round is a step, and
    /// the times of its cohort count from each device's own start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lags: Vec<u64>,
    /// The devices of the cohort that did not report: the round's step is biased by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    /// The median norm of the updates, where the aggregation limits norms by what is usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_norm: Option<f64>,
    /// Mean loss of the local training; none in a round without updates.
    pub train_loss: Option<f64>,
    /// The loss of each device that reported, in their order, where the scheme depends on the losses of earlier rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub train_losses: Vec<f64>,
    /// The metrics of the model after the round; empty if the model was not evaluated.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// How sure the metrics are, where devices evaluated the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
}

fn is_zero(secs: &f64) -> bool {
    *secs == 0.0
}

impl Round {
    /// The time at the end of the round.
    pub fn end_secs(&self) -> f64 {
        self.start_secs + self.round_secs
    }
}

/// A plan that took another's place. The first one is in the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replan {
    /// The last round of the plan before.
    pub after_round: u64,
    /// Time since the run began.
    pub secs: f64,
    /// The reason as a sentence.
    #[serde(deserialize_with = "word")]
    pub reason: String,
    /// How many devices there are now.
    pub devices: usize,
    /// Positions of devices that are not part of the plan, because they keep failing to deliver: the shares of the
    /// data are those of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benched: Vec<usize>,
    /// Positions of devices that have left the run for good: they were retired by an operator, or revoked. The shares of
    /// the data are those of the others from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<usize>,
    /// How many of them have a q that differs by more than 1 % from what it was.
    pub changed: usize,
    /// What the plan expects of a round: Σ q, over usual and quiet rounds.
    pub expected_participants: f64,
    /// How many rounds a whole run under this plan would take, where there are constants.
    pub expected_rounds: Option<f64>,
    /// What the plan expects of a round, in seconds: E[T̂].
    pub expected_round_secs: Option<f64>,
    /// What the plan counts on besides computing and uploading, as measured until then.
    #[serde(default, skip_serializing_if = "RecordedCosts::is_paper")]
    pub costs: RecordedCosts,
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
    /// The reason why the run ended.
    pub reason: EndReason,
    /// The number of rounds of the run.
    pub rounds: u64,
    /// Time in all; see [`Round::start_secs`].
    pub secs: f64,
    /// The metrics of the last model; empty if its round was evaluated.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub metrics: Metrics,
    /// How sure the metrics are, where devices evaluated the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The metrics of the last model on the test samples, where the run looked at validation samples until its end.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub test: Metrics,
    /// More about it, where there is more to say.
    #[serde(default, deserialize_with = "optional_word", skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl EndReason {
    /// Whether a cap ended the run. Such a run can be resumed with a higher cap.
    pub fn is_cap(self) -> bool {
        matches!(self, Self::RoundsMax | Self::VirtualTimeMax)
    }

    /// The end of a sentence that begins with the run: "the run reached its target". Runs on real devices have real time.
    pub fn in_words(self, deployed: bool) -> &'static str {
        match self {
            Self::Target => "reached its target",
            Self::RoundsMax => "ended at its cap on rounds",
            Self::VirtualTimeMax if deployed => "ended at its cap on time",
            Self::VirtualTimeMax => "ended at its cap on virtual time",
            Self::Diverged => "diverged",
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The target was reached.
    Target,
    /// The cap on rounds was reached.
    RoundsMax,
    /// The cap on virtual time was reached.
    VirtualTimeMax,
    /// The parameters or the loss became NaN or infinite.
    Diverged,
}
