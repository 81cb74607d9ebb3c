//! When a run ends.

use fedflip_record::{EndReason, Target};

use crate::state::State;

/// When a run ends: whichever comes first.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The value of a metric to reach.
    pub target: Option<Target>,
    /// The most rounds.
    pub rounds_max: u64,
    /// The most time in seconds.
    pub secs_max: Option<f64>,
}

impl Stop {
    /// Ends after this number of rounds, whatever the metrics.
    pub fn after_rounds(rounds_max: u64) -> Self {
        Self { target: None, rounds_max, secs_max: None }
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
