//! Plans of a deployed run: the first one, the next ones, and the one that holds after a restart.

use std::path::Path;

use fedflip_fleet::{Downlink, Download, Fleet, RoundCosts, Secs, csv_file};
use fedflip_plan::{Expected, GivenQ, Plan, PlanError, Planning, Quiet, Schedule, solve};

use super::deploy::Deployment;
use crate::error::NetError;
use crate::measure::Measures;
use crate::replan::{self, Decision, Terms};
use crate::state::{PlannedDevice, StoredPlan};
use crate::status::Standing;

/// A plan and the measured fleet that it is for.
#[derive(Clone, Debug)]
pub struct Planned {
    pub fleet: Fleet,
    pub schedule: Schedule,
    pub reason: String,
    pub expected: Expected,
    /// What the plan counts on.
    pub costs: RoundCosts,
}

impl Planned {
    /// The probability of each device's coin in a round. A device that is available in a share v of the rounds takes part in
    /// a share q of them if its coin has the probability q/v. v is the plan's value, so that every coin can be checked
    /// against the state; when v drifts, a new plan follows.
    pub(super) fn coin_q(&self, round: u64) -> Vec<f64> {
        let pairs = self.schedule.plan(round).q().iter().zip(self.fleet.availability());
        pairs.map(|(q, availability)| (q / availability).min(1.0)).collect()
    }

    /// Whether a device is part of the plan: a benched one is not.
    pub(super) fn takes_part(&self, slot: usize) -> bool {
        self.schedule.usual().q().get(slot).is_some_and(|q| *q > 0.0)
    }

    /// The same plan with the slots of the whole fleet.
    fn spread(self, fleet: &Fleet, active: &[usize]) -> Result<Self, NetError> {
        if active.len() == fleet.len() {
            return Ok(self);
        }
        Ok(Self { schedule: self.schedule.spread(fleet, active)?, fleet: fleet.clone(), ..self })
    }
}

impl Deployment {
    pub(super) fn stored_plan(&self, planned: &Planned, after_round: u64, secs: f64) -> StoredPlan {
        let Planned { fleet, schedule, reason, expected, costs } = planned;
        let (mut fleet_csv, plan) = (Vec::new(), schedule.usual());
        // Writing to memory never fails.
        let _ = csv_file::write(fleet, &mut fleet_csv);
        let device = |slot: usize| PlannedDevice {
            q: plan.q()[slot],
            availability: fleet.availability()[slot],
            weight: plan.aggregation_weights()[slot],
            quiet: schedule.quiet().map(|quiet| [quiet.q()[slot], quiet.aggregation_weights()[slot]]),
        };
        StoredPlan {
            after_round,
            secs,
            reason: reason.clone(),
            scheme: self.scheme.to_string(),
            constants: self.constants.map(|constants| [constants.alpha(), constants.beta()]),
            devices: (0..fleet.len()).map(device).collect(),
            fleet_csv,
            plan_csv: schedule.csv(fleet),
            expected: *expected,
            costs: (*costs).into(),
        }
    }

    /// The measured overhead of a mean round; none before the first one.
    pub(super) fn measured_overhead_secs(&self, measures: &Measures) -> Option<f64> {
        let every = self.quiet.map_or(self.evaluate_every, |quiet| quiet.every);
        measures.overhead_secs(1.0 / every.max(1) as f64)
    }

    /// What rounds cost by the measurements so far.
    pub(super) fn planned_costs(&self, measures: &Measures) -> RoundCosts {
        let measured = || self.measured_overhead_secs(measures);
        let overhead_secs = self.planned_overhead.map(Secs::get).or_else(measured);
        let ratio = measures.download_ratio().unwrap_or(1.0);
        let measured = |download: Download| Download { per_upload: ratio * download.per_upload, ..download };
        RoundCosts {
            band: self.costs.band,
            downlink: match self.costs.downlink {
                Downlink::None => Downlink::None,
                Downlink::Broadcast(download) => Downlink::Broadcast(measured(download)),
                Downlink::Unicast(download) => Downlink::Unicast(measured(download)),
            },
            overhead_secs: overhead_secs.unwrap_or(self.costs.overhead_secs),
        }
    }

    /// Plans with the measurements of enrolment.
    pub(super) fn first_plan(&self, fleet: Fleet, costs: RoundCosts) -> Result<Planned, NetError> {
        let plan = match solve(&replan::problem(&fleet, costs), &self.planning()) {
            Err(PlanError::ConstantsMissing { .. }) => return Err(NetError::NoConstants),
            plan => plan?,
        };
        self.planned((fleet, costs), plan, "the first plan".to_owned())
    }

    /// The plan that held before a restart, to the bit.
    pub(super) fn restored_plan(&self, stored: &StoredPlan, folder: &Path) -> Result<Planned, NetError> {
        let fleet = csv_file::read(&stored.fleet_csv[..], "the stored fleet")?;
        if let Some(difference) = self.scheme.given().and_then(|given| difference(given, stored, &fleet)) {
            return Err(NetError::OtherScenario { folder: folder.display().to_string(), difference });
        }
        let plan = Plan::from_q(&fleet, stored.devices.iter().map(|device| device.q).collect())?;
        let quiet_q: Option<Vec<f64>> = stored.devices.iter().map(|device| Some(device.quiet?[0])).collect();
        let schedule = Schedule::new(plan, self.evaluate_every);
        let schedule = match (self.quiet, quiet_q) {
            (Some(Quiet { every, .. }), Some(q)) => schedule.with_quiet(every, Plan::from_q(&fleet, q)?)?,
            (None, None) => schedule,
            // Cannot happen: a folder of another scenario is refused when it is opened.
            _ => return Err(NetError::StateRefused { what: "a plan of other rounds".to_owned() }),
        };
        let costs = stored.costs.round_costs(self.costs.band.total());
        let costs = costs.ok_or_else(|| NetError::damaged(folder, "has a plan with impossible costs"))?;
        Ok(Planned { fleet, schedule, reason: stored.reason.clone(), expected: stored.expected, costs })
    }

    /// Another plan, if a device was benched, has returned, has enrolled or has left for good (and is not `known_left`), or if
    /// a review is `due` and sample counts, weights or measured times call for one. Only active devices are part of it, and the data shares are theirs.
    pub(super) fn next_plan(
        &self,
        now: &Planned,
        (fleet, costs): (&Fleet, RoundCosts),
        (standing_of, known_left): (impl Fn(usize) -> Standing, &[usize]),
        due: bool,
    ) -> Option<Planned> {
        // A device that enrols during the run and is not in the file has no q.
        let has_q = |slot| self.scheme.given().is_none_or(|given| given.q(fleet.name(slot)).is_some());
        let is_active = |slot: &usize| standing_of(*slot) == Standing::Active && has_q(*slot);
        let active: Vec<usize> = (0..fleet.len()).filter(is_active).collect();
        let part = fleet.subset(&active).ok()?;
        let q = q_of(now.schedule.usual().q(), &active);
        let quiet_q = now.schedule.quiet().map(|plan| q_of(plan.q(), &active));
        let planned_for = |&slot: &usize| {
            let fleet = if now.takes_part(slot) { &now.fleet } else { fleet };
            fleet.availability()[slot]
        };
        let availability: Vec<f64> = active.iter().map(planned_for).collect();
        let planning = self.planning();
        let terms = Terms { fleet: &part, costs, planning: &planning };
        let in_force =
            replan::PlanInForce { q: &q, quiet_q: quiet_q.as_deref(), availability: &availability };
        let decision = match change(now, fleet, &active, (standing_of, known_left)) {
            Some(reason) => replan::replace(in_force, terms, reason),
            None if !due => return None,
            None => match reweighed(now, fleet, &active) {
                Some(reason) => replan::replace(in_force, terms, reason),
                None => replan::decide(in_force, terms),
            },
        };
        match decision {
            Decision::Keep { reason } => {
                tracing::debug!(%reason, "the plan stays");
                None
            }
            Decision::Take { plan, reason } => {
                let planned = self
                    .planned((part, costs), plan, reason)
                    .and_then(|planned| planned.spread(fleet, &active));
                planned
                    .map_err(
                        |error| tracing::warn!(%error, "the plan stays, as there is none for quiet rounds"),
                    )
                    .ok()
            }
        }
    }

    fn planning(&self) -> Planning {
        let Deployment { constants, variance, quiet, evaluate_every, .. } = *self;
        // A file may name devices that have not enrolled yet, or that take no part.
        let scheme = self.scheme.allowing_absent();
        Planning { constants, variance, quiet, evaluate_every, ..Planning::new(scheme) }
    }

    /// Adds the plan of quiet rounds, and the expected costs of both.
    fn planned(
        &self,
        (fleet, costs): (Fleet, RoundCosts),
        plan: Plan,
        reason: String,
    ) -> Result<Planned, NetError> {
        let (planning, problem) = (self.planning(), replan::problem(&fleet, costs));
        let fedflip_plan::Planned { schedule, expected } =
            fedflip_plan::schedule_from(&problem, &planning, plan)?;
        Ok(Planned { fleet, schedule, reason, expected, costs })
    }
}

/// The first device to which a file gives another q than the plan of the run has. A q below that of the file was capped
/// by the availability, which may have drifted since.
fn difference(given: &GivenQ, stored: &StoredPlan, fleet: &Fleet) -> Option<String> {
    let planned = stored.devices.iter().enumerate().filter(|(_, device)| device.q > 0.0);
    let mut differing = planned.filter_map(|(slot, device)| {
        let wanted = given.q(fleet.name(slot))?;
        let is_capped = device.q < wanted && device.q * (1.0 + replan::DRIFT_MAX) >= device.availability;
        (device.q != wanted && !is_capped).then(|| (fleet.name(slot), wanted, device.q))
    });
    let (name, wanted, planned) = differing.next()?;
    Some(format!("{} has q = {wanted} for the device {name:?}, and the run {planned}", given.file()))
}

/// Names the devices that enrolled, were benched, returned or left since the plan was made; none without such devices.
/// `known_left` are those of which the records already say that they have left: a benched device may leave, too.
fn change(
    now: &Planned,
    fleet: &Fleet,
    active: &[usize],
    (standing_of, known_left): (impl Fn(usize) -> Standing, &[usize]),
) -> Option<String> {
    let is_active = |slot: &usize| active.binary_search(slot).is_ok();
    let left = |standing: Standing| -> Vec<usize> {
        let is_new =
            |slot: &usize| now.takes_part(*slot) || (standing.has_left() && !known_left.contains(slot));
        (0..now.fleet.len()).filter(|slot| standing_of(*slot) == standing).filter(is_new).collect()
    };
    let returned = active.iter().copied().filter(|slot| *slot < now.fleet.len() && !now.takes_part(*slot));
    let (came, without_q): (Vec<usize>, Vec<usize>) = (now.fleet.len()..fleet.len()).partition(is_active);
    let groups = [
        (left(Standing::Benched), "keeps failing to deliver and is benched"),
        (left(Standing::Retired), "was retired, and the data shares are those of the others"),
        (left(Standing::Revoked), "was revoked, and the data shares are those of the others"),
        (returned.collect(), "is back from the bench"),
        (came, "came"),
        (without_q, "enrolled but does not take part, because the file of the plan has no q for it"),
    ];
    let parts: Vec<String> = groups
        .iter()
        .filter(|(slots, _)| !slots.is_empty())
        .map(|(slots, what)| format!("{} {what}", replan::names(fleet, slots)))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Names the devices whose weights are not those of the plan any more; none without such devices.
fn reweighed(now: &Planned, fleet: &Fleet, active: &[usize]) -> Option<String> {
    let changed = |slot: &usize| now.fleet.samples().get(*slot) != fleet.samples().get(*slot);
    let changed: Vec<usize> = active.iter().copied().filter(changed).collect();
    let names = replan::names(fleet, &changed);
    (!changed.is_empty()).then(|| format!("the sample count or the weight of {names} changed"))
}

/// q of these slots; a device without a q gets the mean of the others.
fn q_of(q: &[f64], slots: &[usize]) -> Vec<f64> {
    let planned = q.iter().filter(|q| **q > 0.0);
    let mean = planned.clone().sum::<f64>() / planned.count().max(1) as f64;
    slots.iter().map(|&slot| q.get(slot).copied().filter(|q| *q > 0.0).unwrap_or(mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_changed_since_the_plan_is_told_from_caps() {
        let fleet = "device,compute_secs,comm_secs,samples,availability\nphone,1,1,1,1\ntablet,1,1,1,0.5\n";
        let fleet = csv_file::read(fleet.as_bytes(), "fleet.csv").unwrap();
        let device = |q: f64, availability: f64| PlannedDevice { q, availability, weight: 1.0, quiet: None };
        let stored = |[phone, tablet]: [f64; 2]| StoredPlan {
            after_round: 0,
            secs: 0.0,
            reason: String::new(),
            scheme: "file=q.csv".to_owned(),
            constants: None,
            devices: vec![device(phone, 1.0), device(tablet, 0.5)],
            fleet_csv: Vec::new(),
            plan_csv: Vec::new(),
            expected: Expected::default(),
            costs: Default::default(),
        };
        let text = "device,q\nphone,0.4\ntablet,0.8\nlaptop,1\n";
        let given = GivenQ::read(text.as_bytes(), "q.csv", "q.csv").unwrap();
        let difference = |q: [f64; 2]| difference(&given, &stored(q), &fleet);
        // The tablet is capped, was capped a little lower before, or is benched.
        for same in [[0.4, 0.5], [0.4, 0.45], [0.4, 0.0]] {
            assert_eq!(difference(same), None, "{same:?}");
        }
        let wanted = "q.csv has q = 0.4 for the device \"phone\", and the run 0.3";
        assert_eq!(difference([0.3, 0.5]).as_deref(), Some(wanted));
        assert!(difference([0.41, 0.5]).is_some() && difference([0.4, 0.3]).is_some());
    }
}
