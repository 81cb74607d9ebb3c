//! A run in a few numbers.

use serde::{Deserialize, Serialize};

use crate::schema::{End, EndReason, Header, Round};

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
    /// Of the last evaluation, and after which round that was.
    pub loss: Option<f64>,
    /// See `loss`.
    pub accuracy: Option<f64>,
    /// See `loss`.
    pub evaluated_round: Option<u64>,
}

impl Summary {
    /// Before the first round.
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
            loss: None,
            accuracy: None,
            evaluated_round: None,
        }
    }

    /// After one more.
    pub fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.empty_rounds += u64::from(round.cohort.is_empty());
        self.biased_rounds += u64::from(!round.lost.is_empty());
        self.hours = (round.start_secs + round.round_secs) / 3600.0;
        self.mean_participants += (round.cohort.len() as f64 - self.mean_participants) / self.rounds as f64;
        self.evaluated(round.loss, round.accuracy, round.round);
    }

    /// At the end.
    pub fn end(&mut self, end: &End) {
        self.end = Some(end.reason);
        self.hours = end.secs / 3600.0;
        self.evaluated(end.loss, end.accuracy, end.rounds);
    }

    fn evaluated(&mut self, loss: Option<f64>, accuracy: Option<f64>, round: u64) {
        if loss.is_some() {
            (self.loss, self.accuracy, self.evaluated_round) = (loss, accuracy, Some(round));
        }
    }

    /// Whether it got to where it was to go.
    pub fn reached(&self) -> bool {
        matches!(self.end, Some(EndReason::TargetAccuracy | EndReason::TargetLoss))
    }
}
