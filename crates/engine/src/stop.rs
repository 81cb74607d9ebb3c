//! When a run ends.

use fedflip_learn::Metric;
use fedflip_record::{EndReason, Target};

use crate::error::EngineError;
use crate::state::State;

/// When a run ends: whichever comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The value of a metric to reach.
    pub target: Option<Target>,
    /// The cap on the number of rounds.
    pub rounds_max: u64,
    /// The most time in seconds.
    pub secs_max: Option<f64>,
}

/// The names of metrics in a sentence.
pub fn in_words(metrics: &[Metric]) -> String {
    let names: Vec<&str> = metrics.iter().map(|metric| &*metric.info.name).collect();
    if names.is_empty() { "no metric".to_owned() } else { names.join(", ") }
}

impl Stop {
    /// Ends after this number of rounds, whatever the metrics.
    pub fn after_rounds(rounds_max: u64) -> Self {
        Self { target: None, rounds_max, secs_max: None }
    }

    /// Refuses a target of a metric that nobody evaluates.
    pub fn check_metric(&self, metrics: &[Metric]) -> Result<(), EngineError> {
        match &self.target {
            Some(target) if metrics.iter().all(|metric| metric.info.name != target.metric) => {
                Err(EngineError::NoSuchMetric { metric: target.metric.clone(), known: in_words(metrics) })
            }
            _ => Ok(()),
        }
    }

    /// Why a run in this state ends, if it does.
    pub(crate) fn reason(&self, state: &State) -> Option<EndReason> {
        if let (Some(target), Some(metrics)) = (&self.target, &state.evaluated)
            && target.is_met(metrics)
        {
            return Some(EndReason::Target);
        }
        if state.round >= self.rounds_max {
            return Some(EndReason::RoundsMax);
        }
        self.secs_max.is_some_and(|most| state.secs >= most).then_some(EndReason::VirtualTimeMax)
    }
}
