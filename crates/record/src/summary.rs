//! A run in a few numbers.

use fedflip_fleet::Metrics;
use serde::{Deserialize, Serialize};

use crate::schema::{End, EndReason, Header, Initial, Round};

/// What a run came to so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How q was chosen.
    pub scheme: String,
    /// Of the run.
    pub seed: u64,
    /// Why it ended; none while it goes on.
    pub end: Option<EndReason>,
    /// Rounds done.
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
    /// The round after which the model was evaluated last; 0 for the first model.
    pub evaluated_round: Option<u64>,
}

impl Summary {
    /// The summary of a run that has only begun.
    pub fn new(header: &Header) -> Self {
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
            evaluated_round: None,
        }
    }

    /// Adds the evaluation of the first model.
    pub fn initial(&mut self, initial: &Initial) {
        self.hours = initial.secs / 3600.0;
        self.evaluated(&initial.metrics, 0);
    }

    /// Adds one more round.
    pub fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.empty_rounds += u64::from(round.cohort.is_empty());
        self.biased_rounds += u64::from(!round.lost.is_empty());
        self.hours = round.end_secs() / 3600.0;
        self.mean_participants += (round.cohort.len() as f64 - self.mean_participants) / self.rounds as f64;
        self.evaluated(&round.metrics, round.round);
    }

    /// Adds the end of the run.
    pub fn end(&mut self, end: &End) {
        self.end = Some(end.reason);
        self.hours = end.secs / 3600.0;
        self.evaluated(&end.metrics, end.rounds);
    }

    fn evaluated(&mut self, metrics: &Metrics, round: u64) {
        if !metrics.is_empty() {
            self.metrics.clone_from(metrics);
            self.evaluated_round = Some(round);
        }
    }

    /// Whether the run reached its target.
    pub fn reached(&self) -> bool {
        self.end == Some(EndReason::Target)
    }
}
