//! A run in a few numbers.

use serde::{Deserialize, Serialize};

use crate::reader::Records;
use crate::schema::EndReason;

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
    /// Virtual time in all, in hours.
    pub hours: f64,
    /// Per round, on average.
    pub mean_participants: f64,
    /// Of the last evaluation.
    pub loss: Option<f64>,
    /// Of the last evaluation.
    pub accuracy: Option<f64>,
}

impl Summary {
    /// Of these records.
    pub fn of(records: &Records) -> Self {
        let rounds = &records.rounds;
        let count = |which: &dyn Fn(&crate::schema::Round) -> bool| {
            rounds.iter().filter(|&round| which(round)).count() as u64
        };
        let participants: usize = rounds.iter().map(|round| round.cohort.len()).sum();
        let secs = rounds.last().map_or(0.0, |round| round.start_secs + round.round_secs);
        Self {
            scheme: records.header.scheme.clone(),
            seed: records.header.seed,
            end: records.end.as_ref().map(|end| end.reason),
            rounds: rounds.len() as u64,
            empty_rounds: count(&|round| round.cohort.is_empty()),
            biased_rounds: count(&|round| !round.lost.is_empty()),
            hours: records.end.as_ref().map_or(secs, |end| end.secs) / 3600.0,
            mean_participants: participants as f64 / rounds.len().max(1) as f64,
            loss: rounds.iter().rev().find_map(|round| round.loss),
            accuracy: rounds.iter().rev().find_map(|round| round.accuracy),
        }
    }

    /// Whether it got to where it was to go.
    pub fn reached(&self) -> bool {
        matches!(self.end, Some(EndReason::TargetAccuracy | EndReason::TargetLoss))
    }
}
