//! Plans of a deployed run: the first, the next, and the one of before a restart.

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::solve::{self, auto, baseline};
use fedflip_plan::{Evaluation, PLANNING_SEED, Plan, Problem, Settings};

use super::deploy::Deployment;
use crate::error::NetError;
use crate::replan::{self, Decision, Standing, Terms};
use crate::state::{Expected, StoredPlan};

/// Draws of an estimate of E[T̂].
const DRAWS: u64 = 2_000;

/// A plan and the measured fleet that it is for.
#[derive(Clone, Debug)]
pub struct Planned {
    /// As measured.
    pub fleet: Fleet,
    /// For it.
    pub plan: Plan,
    /// Why it was made.
    pub reason: String,
    /// What it expects.
    pub expected: Expected,
    constants: Option<[f64; 2]>,
}

impl Planned {
    /// What each device's coin must be below: a device that is there in a share v of the rounds takes part in a
    /// share q of them if its coin falls with q/v. v is the plan's, so that whoever has the state can check every
    /// coin; when it has drifted, a new plan tells another.
    pub(super) fn coin_q(&self) -> Vec<f64> {
        let pairs = self.plan.q().iter().zip(self.fleet.availability());
        pairs.map(|(q, availability)| (q / availability).min(1.0)).collect()
    }

    /// As it is kept.
    pub(super) fn stored(&self, after_round: u64, secs: f64) -> StoredPlan {
        let mut fleet_csv = Vec::new();
        // Memory takes whatever is written to it.
        let _ = csv_file::write(&self.fleet, &mut fleet_csv);
        StoredPlan {
            after_round,
            secs,
            reason: self.reason.clone(),
            scheme: self.plan.scheme().to_string(),
            constants: self.constants,
            q: self.plan.q().to_vec(),
            availability: self.fleet.availability().to_vec(),
            weights: self.plan.aggregation_weights().to_vec(),
            fleet_csv,
            plan_csv: self.plan.csv(&self.fleet),
            expected: self.expected,
        }
    }
}

/// Makes plans for a deployed run.
pub(super) struct Planner<'a> {
    pub deployment: &'a Deployment,
}

impl Planner<'_> {
    /// From what devices measured when they came.
    pub(super) fn first(&self, fleet: Fleet) -> Result<Planned, NetError> {
        let Deployment { scheme, constants, noise, band, .. } = *self.deployment;
        let plan = match auto::constants(scheme, &fleet, noise, constants) {
            Some(constants) => match Problem::new(&fleet, band, constants) {
                Ok(problem) => solve::solve(&problem, scheme, &self.settings())?,
                // A baseline needs no constants: where they rule it out it is run all the same.
                Err(error) => baseline::unjudged(&fleet, scheme).ok_or(error)?,
            },
            None => baseline::unjudged(&fleet, scheme).ok_or(NetError::NoConstants)?,
        };
        Ok(self.planned(fleet, plan, "the first plan".to_owned()))
    }

    /// The plan of before a restart, to the bit.
    pub(super) fn restored(&self, stored: &StoredPlan) -> Result<Planned, NetError> {
        let fleet = csv_file::read(&stored.fleet_csv[..], "the stored fleet")?;
        let plan = Plan::restored(&fleet, stored.scheme.parse()?, stored.q.clone())?;
        let (reason, expected, constants) = (stored.reason.clone(), stored.expected, stored.constants);
        Ok(Planned { fleet, plan, reason, expected, constants })
    }

    /// Another plan, if what was measured since asks for one.
    pub(super) fn next(&self, now: &Planned, fleet: Fleet) -> Option<Planned> {
        let Deployment { scheme, constants, band, .. } = *self.deployment;
        let settings = self.settings();
        let standing = Standing { scheme, q: now.plan.q(), availability: now.fleet.availability() };
        let terms = Terms { fleet: &fleet, band, constants, settings: &settings };
        match replan::decide(standing, terms) {
            Decision::Keep { reason } => {
                tracing::debug!(%reason, "the plan stays");
                None
            }
            Decision::Take { plan, reason } => Some(self.planned(fleet, plan, reason)),
        }
    }

    fn settings(&self) -> Settings {
        Settings { seed: PLANNING_SEED, noise: self.deployment.noise, ..Settings::default() }
    }

    fn planned(&self, fleet: Fleet, plan: Plan, reason: String) -> Planned {
        let Deployment { constants, band, .. } = *self.deployment;
        let problem = constants.and_then(|constants| Problem::new(&fleet, band, constants).ok());
        let evaluation = problem.map(|problem| Evaluation::new(&problem, &plan, PLANNING_SEED, Some(DRAWS)));
        let expected = Expected {
            participants: plan.q().iter().sum(),
            rounds: evaluation.as_ref().and_then(|evaluation| evaluation.rounds),
            round_secs: evaluation.as_ref().map(|evaluation| evaluation.round_secs.mean.mean),
        };
        let constants = constants.map(|constants| [constants.alpha(), constants.beta()]);
        Planned { fleet, plan, reason, expected, constants }
    }
}
