//! A run in a few numbers.

use fedflip_fleet::Metrics;
use serde::{Deserialize, Serialize};

use crate::estimated::Estimated;
use crate::schema::{EndReason, Header};

/// What a run came to so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How q was chosen.
    pub scheme: String,
    /// The seed of the run.
    pub seed: u64,
    /// Why it ended; none while it is in progress.
    pub end: Option<EndReason>,
    /// The number of rounds that are done.
    pub rounds: u64,
    /// Rounds in which nobody took part.
    pub empty_rounds: u64,
    /// Rounds in which somebody who took part did not report.
    pub biased_rounds: u64,
    /// Time in all, in hours: virtual, or by the clock on the wall where devices are real.
    pub hours: f64,
    /// Per round, on average.
    pub mean_participants: f64,
    /// The metrics of the last evaluation; empty before the first one.
    pub metrics: Metrics,
    /// How sure `metrics` are, where devices estimated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<Estimated>,
    /// The metrics of the last model on the test samples, where `metrics` are those on validation samples.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub test: Metrics,
    /// The round after which the model was evaluated last; 0 for the first model.
    pub evaluated_round: Option<u64>,
}

impl Summary {
    /// The summary of a run that has only begun.
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            scheme: header.scheme.clone(),
            seed: header.seed,
            end: None,
            rounds: 0,
            empty_rounds: 0,
            biased_rounds: 0,
            hours: 0.0,
            mean_participants: 0.0,
            metrics: Metrics::default(),
            estimated: None,
            test: Metrics::default(),
            evaluated_round: None,
        }
    }

    /// Whether the run reached its target.
    pub fn reached(&self) -> bool {
        self.end == Some(EndReason::Target)
    }
}
