//! Decides whether measurements call for another plan.
//!
//! A plan is replaced only if that pays, because measurements change a little with every round. Nothing here fails: where
//! the planner refuses, the present plan continues as far as it can.

use fedflip_fleet::{Fleet, RoundCosts};
use fedflip_plan::{Plan, PlanError, Planning, Problem, monte_carlo, solve};

/// The least saving of expected time that is worth a new plan.
pub const SAVING_MIN: f64 = 0.05;
/// q may exceed a device's measured availability by this share, which is less than the error of the measurement.
pub const EXCESS_MAX: f64 = 0.05;
/// An availability may differ from the planned one by this share: the device's coin makes up for the planned one, so its
/// participation is off by as much.
pub const DRIFT_MAX: f64 = 0.2;

#[derive(Clone, Copy, Debug)]
pub struct PlanInForce<'a> {
    /// The participation probabilities of the plan, by slot.
    pub q: &'a [f64],
    /// q of quiet rounds, if there are any; by slot.
    pub quiet_q: Option<&'a [f64]>,
    /// The availabilities in the plan; by slot.
    pub availability: &'a [f64],
}

/// The inputs of a new plan.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The measured fleet; new devices come last.
    pub fleet: &'a Fleet,
    /// What rounds cost, by the newest measurements.
    pub costs: RoundCosts,
    /// The settings of the planner; their seed also decides the draws of the comparison.
    pub planning: &'a Planning,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Keep {
        reason: String,
    },
    /// This plan replaces the present one, with the availabilities of the measured fleet.
    Take {
        /// No q of it exceeds the availability of its device.
        plan: Plan,
        reason: String,
    },
}

/// The fleet must have at least the devices of the present plan.
pub fn decide(in_force: PlanInForce<'_>, terms: Terms<'_>) -> Decision {
    let PlanInForce { q, availability, .. } = in_force;
    let devices = terms.fleet.len();
    if devices < q.len() || availability.len() != q.len() {
        let reason = format!("{devices} devices were measured, and {} are planned for", q.len());
        return Decision::Keep { reason };
    }
    if devices > q.len() {
        let came: Vec<usize> = (q.len()..devices).collect();
        return replace(in_force, terms, format!("{} came", names(terms.fleet, &came)));
    }
    if let Some(reason) = over_cap(in_force.q, terms.fleet) {
        return replace(in_force, terms, reason);
    }
    // The q of usual rounds stay; every new plan has a new plan of quiet rounds.
    if let Some(reason) = in_force.quiet_q.and_then(|quiet_q| over_cap(quiet_q, terms.fleet)) {
        return go_on(in_force, terms, reason);
    }
    let drifted = drifted(in_force, terms.fleet);
    let scheme = &terms.planning.scheme;
    if scheme.is_baseline() {
        return match drifted {
            Some(reason) => replace(in_force, terms, reason),
            None => Decision::Keep { reason: format!("{scheme} does not depend on times") },
        };
    }
    match (faster(in_force, terms), drifted) {
        (Ok((plan, reason)), _) => Decision::Take { plan, reason },
        // The same q, with coins for the measured availabilities.
        (Err(_), Some(reason)) => go_on(in_force, terms, reason),
        (Err(reason), None) => Decision::Keep { reason },
    }
}

/// Names devices that attend less often than they should take part.
fn over_cap(q: &[f64], fleet: &Fleet) -> Option<String> {
    let excess = |slot: &usize| q[*slot] / fleet.availability()[*slot];
    let mut over: Vec<usize> = (0..q.len()).filter(|slot| excess(slot) > 1.0 + EXCESS_MAX).collect();
    over.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    let worst = fleet.availability()[*over.first()?];
    Some(format!(
        "{} was connected in {} of its rounds, which caps its q",
        names(fleet, &over),
        percent(worst)
    ))
}

/// Names devices whose coins are made for an availability that has changed.
fn drifted(in_force: PlanInForce<'_>, fleet: &Fleet) -> Option<String> {
    let drift = |slot: &usize| (fleet.availability()[*slot] / in_force.availability[*slot]).ln().abs();
    let mut off: Vec<usize> = (0..in_force.q.len()).filter(|slot| drift(slot) > DRIFT_MAX.ln_1p()).collect();
    off.sort_by(|a, b| drift(b).total_cmp(&drift(a)));
    let first = *off.first()?;
    let [found, planned] = [fleet.availability(), in_force.availability].map(|shares| percent(shares[first]));
    Some(format!(
        "{} was connected in {found} of its rounds, and the plan assumed {planned}",
        names(fleet, &off)
    ))
}

/// A plan that saves enough time; otherwise the reason why there is none.
fn faster(in_force: PlanInForce<'_>, terms: Terms<'_>) -> Result<(Plan, String), String> {
    let Terms { fleet, costs, planning } = terms;
    let refused = |error: PlanError| format!("the planner refuses: {error}");
    let goal = planning.goal().map_err(refused)?.ok_or("a baseline has nothing to gain")?;
    let problem = problem(fleet, costs);
    let plan = solve(&problem, planning).map_err(refused)?;
    let now = clipped(in_force, fleet).map_err(refused)?;
    // The same draws for both plans, so that chance does not decide between them.
    let total_secs = |plan: &Plan| {
        let draws = monte_carlo::default_draws(costs.band, plan.q().iter().sum());
        let round_secs = monte_carlo::round_secs(&problem, plan.q(), planning.seed, draws).mean;
        goal.total_secs(&problem, plan.q(), round_secs)
    };
    match (total_secs(&now), total_secs(&plan)) {
        (_, None) => Err("no plan reaches the target".to_owned()),
        (None, Some(_)) => Ok((plan, "the target could not be reached any more".to_owned())),
        (Some(before), Some(after)) => {
            let saving = 1.0 - after / before;
            if saving >= SAVING_MIN {
                return Ok((
                    plan,
                    format!(
                        "measured times changed: the new plan saves {} of the expected time",
                        percent(saving)
                    ),
                ));
            }
            let [saving, worth] = [saving.max(0.0), SAVING_MIN].map(percent);
            Err(format!("another plan would save {saving} of the expected time; {worth} would be worth it"))
        }
    }
}

/// The problem of a measured fleet. Its limits were found by uploads and say nothing about downloads, which are measured
/// apart.
pub(crate) fn problem(fleet: &Fleet, costs: RoundCosts) -> Problem<'_> {
    let limit_mbps = (0..fleet.len()).map(|slot| fleet.link(slot).limit_mbps).fold(f64::INFINITY, f64::min);
    Problem::new(fleet, costs.with_free_downloads(limit_mbps))
}

/// A new plan that is needed for this reason, whatever it costs.
pub fn replace(in_force: PlanInForce<'_>, terms: Terms<'_>, reason: String) -> Decision {
    match solve(&problem(terms.fleet, terms.costs), terms.planning) {
        Ok(plan) => Decision::Take { plan, reason },
        Err(error) => go_on(
            in_force,
            terms,
            format!("{reason}; all others keep their q, as the planner refuses: {error}"),
        ),
    }
}

/// The present plan, as far as it can continue.
fn go_on(in_force: PlanInForce<'_>, terms: Terms<'_>, reason: String) -> Decision {
    match clipped(in_force, terms.fleet) {
        Ok(plan) => Decision::Take { plan, reason },
        Err(error) => Decision::Keep { reason: format!("{reason}; but {error}") },
    }
}

/// The same q within the measured availabilities; a new device gets the mean q of the others.
fn clipped(in_force: PlanInForce<'_>, fleet: &Fleet) -> Result<Plan, PlanError> {
    let mean = in_force.q.iter().sum::<f64>() / in_force.q.len() as f64;
    let wanted = in_force.q.iter().copied().chain(std::iter::repeat(mean));
    let q = wanted.zip(fleet.availability()).map(|(q, cap)| q.min(*cap)).collect();
    Plan::from_q(fleet, q)
}

/// `phone-3`, or `phone-3 (and 4 more)`.
pub(crate) fn names(fleet: &Fleet, slots: &[usize]) -> String {
    match slots {
        [] => "nobody".to_owned(),
        [slot] => fleet.name(*slot).to_owned(),
        [slot, more @ ..] => format!("{} (and {} more)", fleet.name(*slot), more.len()),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
