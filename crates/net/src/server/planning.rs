//! Plans of a deployed run: the first, the next, and the one of before a restart.

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::{Expected, Plan, PlanError, Planning, Problem, Quiet, Schedule, solve};

use super::deploy::Deployment;
use crate::error::NetError;
use crate::replan::{self, Decision, Standing, Terms};
use crate::state::{StoredPlan, StoredQuiet};

/// A plan and the measured fleet that it is for.
#[derive(Clone, Debug)]
pub struct Planned {
    pub fleet: Fleet,
    pub schedule: Schedule,
    pub reason: String,
    pub expected: Expected,
}

impl Planned {
    /// What each device's coin must be below in a round: a device that is there in a share v of the rounds takes part in a
    /// share q of them if its coin falls with q/v. v is the plan's, so that whoever has the state can check every
    /// coin; when it has drifted, a new plan tells another.
    pub(super) fn coin_q(&self, round: u64) -> Vec<f64> {
        let pairs = self.schedule.plan(round).q().iter().zip(self.fleet.availability());
        pairs.map(|(q, availability)| (q / availability).min(1.0)).collect()
    }

    /// Whether a device is part of the plan: a benched one is not.
    pub(super) fn takes_part(&self, slot: usize) -> bool {
        self.schedule.usual().q().get(slot).is_some_and(|q| *q > 0.0)
    }

    /// The same in the slots of the whole fleet.
    fn spread(self, fleet: &Fleet, active: &[usize]) -> Result<Self, NetError> {
        if active.len() == fleet.len() {
            return Ok(self);
        }
        Ok(Self { schedule: self.schedule.spread(fleet, active)?, fleet: fleet.clone(), ..self })
    }
}

impl Deployment {
    pub(super) fn stored_plan(&self, planned: &Planned, after_round: u64, secs: f64) -> StoredPlan {
        let Planned { fleet, schedule, reason, expected } = planned;
        let (mut fleet_csv, plan) = (Vec::new(), schedule.usual());
        // Writing to memory never fails.
        let _ = csv_file::write(fleet, &mut fleet_csv);
        StoredPlan {
            after_round,
            secs,
            reason: reason.clone(),
            scheme: self.scheme.to_string(),
            constants: self.constants.map(|constants| [constants.alpha(), constants.beta()]),
            q: plan.q().to_vec(),
            availability: fleet.availability().to_vec(),
            weights: plan.aggregation_weights().to_vec(),
            quiet: schedule.quiet().map(|quiet| StoredQuiet {
                q: quiet.q().to_vec(),
                weights: quiet.aggregation_weights().to_vec(),
            }),
            fleet_csv,
            plan_csv: schedule.csv(fleet),
            expected: *expected,
        }
    }

    /// From what devices measured when they came.
    pub(super) fn first_plan(&self, fleet: Fleet) -> Result<Planned, NetError> {
        let plan = match solve(&Problem::new(&fleet, self.bandwidth), &self.planning()) {
            Err(PlanError::ConstantsMissing { .. }) => return Err(NetError::NoConstants),
            plan => plan?,
        };
        self.planned(fleet, plan, "the first plan".to_owned())
    }

    /// The plan of before a restart, to the bit.
    pub(super) fn restored_plan(&self, stored: &StoredPlan) -> Result<Planned, NetError> {
        let fleet = csv_file::read(&stored.fleet_csv[..], "the stored fleet")?;
        let plan = Plan::from_q(&fleet, stored.q.clone())?;
        let schedule = Schedule::new(plan, self.evaluate_every);
        let schedule = match (self.quiet, &stored.quiet) {
            (Some(Quiet { every, .. }), Some(quiet)) => {
                schedule.with_quiet(every, Plan::from_q(&fleet, quiet.q.clone())?)?
            }
            (None, None) => schedule,
            // Cannot be: a folder of another scenario is refused when it is opened.
            _ => return Err(NetError::StateRefused { what: "a plan of other rounds".to_owned() }),
        };
        Ok(Planned { fleet, schedule, reason: stored.reason.clone(), expected: stored.expected })
    }

    /// Another plan, if somebody was benched, is back or came, or if measured times are `due` to be looked at and ask
    /// for one. Benched devices are not part of it.
    pub(super) fn next_plan(
        &self,
        now: &Planned,
        fleet: &Fleet,
        is_benched: impl Fn(usize) -> bool,
        due: bool,
    ) -> Option<Planned> {
        let active: Vec<usize> = (0..fleet.len()).filter(|&slot| !is_benched(slot)).collect();
        let part = fleet.subset(&active).ok()?;
        let q = q_of(now.schedule.usual().q(), &active);
        let quiet_q = now.schedule.quiet().map(|plan| q_of(plan.q(), &active));
        let planned_for = |&slot: &usize| {
            let fleet = if now.takes_part(slot) { &now.fleet } else { fleet };
            fleet.availability()[slot]
        };
        let availability: Vec<f64> = active.iter().map(planned_for).collect();
        let planning = self.planning();
        let terms = Terms { fleet: &part, band: self.bandwidth, planning: &planning };
        let standing = Standing { q: &q, quiet_q: quiet_q.as_deref(), availability: &availability };
        let decision = match change(now, fleet, &active) {
            Some(reason) => replan::replace(standing, terms, reason),
            None if due => replan::decide(standing, terms),
            None => return None,
        };
        match decision {
            Decision::Keep { reason } => {
                tracing::debug!(%reason, "the plan stays");
                None
            }
            Decision::Take { plan, reason } => {
                let planned =
                    self.planned(part, plan, reason).and_then(|planned| planned.spread(fleet, &active));
                planned
                    .map_err(
                        |error| tracing::warn!(%error, "the plan stays, as there is none for quiet rounds"),
                    )
                    .ok()
            }
        }
    }

    fn planning(&self) -> Planning {
        let Deployment { scheme, constants, variance, quiet, evaluate_every, .. } = *self;
        Planning { constants, variance, quiet, evaluate_every, ..Planning::new(scheme) }
    }

    /// With the plan of quiet rounds, and what comes of both.
    fn planned(&self, fleet: Fleet, plan: Plan, reason: String) -> Result<Planned, NetError> {
        let (planning, problem) = (self.planning(), Problem::new(&fleet, self.bandwidth));
        let fedflip_plan::Planned { schedule, expected } =
            fedflip_plan::schedule_from(&problem, &planning, plan)?;
        Ok(Planned { fleet, schedule, reason, expected })
    }
}

/// Who came, was benched or returned since the plan was made, in words; none if nobody.
fn change(now: &Planned, fleet: &Fleet, active: &[usize]) -> Option<String> {
    let is_active = |slot: &usize| active.binary_search(slot).is_ok();
    let benched = (0..now.fleet.len()).filter(|slot| now.takes_part(*slot) && !is_active(slot));
    let returned = active.iter().copied().filter(|slot| *slot < now.fleet.len() && !now.takes_part(*slot));
    let came = now.fleet.len()..fleet.len();
    let groups = [
        (benched.collect::<Vec<_>>(), "keeps failing to deliver and is benched"),
        (returned.collect(), "is back from the bench"),
        (came.collect(), "came"),
    ];
    let parts: Vec<String> = groups
        .iter()
        .filter(|(slots, _)| !slots.is_empty())
        .map(|(slots, what)| format!("{} {what}", replan::names(fleet, slots)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// q of these slots; devices without one take part as often as the others do on average.
fn q_of(q: &[f64], slots: &[usize]) -> Vec<f64> {
    let planned = q.iter().filter(|q| **q > 0.0);
    let mean = planned.clone().sum::<f64>() / planned.count().max(1) as f64;
    slots.iter().map(|&slot| q.get(slot).copied().filter(|q| *q > 0.0).unwrap_or(mean)).collect()
}
