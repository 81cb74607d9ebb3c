//! What a plan is made for.

use std::sync::Arc;

use fedflip_fleet::{Band, Fleet, RoundCosts};
use fedflip_plan::{Constants, Interval, PilotFit, Planning, Problem};

use super::dialect::Dialect;

/// The settings of a plan, or of a comparison of plans, all of them checked.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// What the fleet is called in sentences.
    pub source: String,
    /// The fleet to plan for.
    pub fleet: Arc<Fleet>,
    /// What a round costs.
    pub costs: RoundCosts,
    /// None where neither constants nor pilots are given.
    pub constants: Option<ConstantsSource>,
    /// The scheme, and everything else that decides q.
    pub planning: Planning,
    /// Cohorts drawn for the mean round time; by default as many as half a second allows.
    pub draws: Option<u64>,
    /// The words for settings.
    pub dialect: Dialect,
}

impl PlanSettings {
    /// The problem that the planner solves.
    pub fn problem(&self) -> Problem<'_> {
        Problem::new(&self.fleet, self.costs)
    }

    /// The bandwidth that devices share; none where they share spectrum.
    pub(crate) fn bandwidth_mbps(&self) -> Option<f64> {
        match self.costs.band {
            Band::Linear(bandwidth) => Some(bandwidth.get()),
            Band::Shannon(_) => None,
        }
    }
}

/// α and β, and where they come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstantsSource {
    /// Both were given as numbers.
    Given(Constants),
    /// Pilots estimated both constants.
    Pilots {
        /// The estimate with its confidence intervals.
        fit: PilotFit,
        /// The number of pilots.
        count: usize,
    },
}

impl ConstantsSource {
    /// The values of α and β.
    pub fn constants(&self) -> Constants {
        match self {
            Self::Given(constants) => *constants,
            Self::Pilots { fit, .. } => fit.constants,
        }
    }

    /// A warning where the pilots hardly determine the constants.
    pub fn warning(&self) -> Option<&'static str> {
        let Self::Pilots { fit, .. } = self else { return None };
        let open = |interval: Option<Interval>| {
            interval.is_some_and(|interval| !(interval.low.is_finite() && interval.high.is_finite()))
        };
        (open(fit.alpha_interval) || open(fit.beta_interval)).then_some(
            "the pilots leave α and β open (the 95 % interval is unbounded): run more seeds, or longer pilots",
        )
    }
}
