//! The seam between a sampling scheme and everything that uses it: how q is chosen, and how cohorts are drawn.

use fedflip_fleet::Fleet;

use crate::error::PlanError;
use crate::methods::baseline;
use crate::parameter::CohortSize;
use crate::plan::Plan;
use crate::planning::{Planning, judged};
use crate::problem::Problem;
use crate::sampler::{Coins, Sampler};
use crate::schedule::Schedule;

/// A sampling scheme. It implements [`Method::rule`] if q follows from the fleet alone, and otherwise [`Method::plan`].
pub trait Method {
    /// q of every device before caps, for a scheme that needs nothing but the fleet. Where cohorts are not independent
    /// coins, q is the probability to be in the cohort.
    fn rule(&self, _fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        None
    }

    /// q of every device.
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        let plan = baseline::capped(problem.fleet(), self.rule(problem.fleet()), &planning.scheme)?;
        Ok(judged(problem, planning, plan))
    }

    /// Draws the cohorts of a run. By default every device flips its own coin.
    fn sampler<'s>(&self, schedule: &'s Schedule, _fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(Coins::new(schedule))
    }

    /// K, if there are no rounds: devices work on their own, and the server steps after every K updates. Such a scheme has no
    /// sampler.
    fn buffer(&self) -> Option<CohortSize> {
        None
    }

    /// Whether devices flip independent coins, so that real devices can flip them on their own.
    fn flips_coins(&self) -> bool {
        true
    }

    /// Whether cohorts depend on what devices report during a run, so that none can be drawn or timed before it.
    fn depends_on_reports(&self) -> bool {
        false
    }

    /// Whether the expected weight of every device is its share of the data.
    fn is_unbiased(&self) -> bool {
        true
    }
}
