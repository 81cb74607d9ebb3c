//! Why a plan is what it is, in sentences.

use fedflip_plan::{PlanStatus, Problem, RoundModel, Scheme, problem};

use super::settings::PlanSettings;
use super::solved::SolvedPlan;
use crate::render::{devices, duration, name, percent, significant};

/// Why the plan is what it is.
pub(super) fn reasons(
    settings: &PlanSettings,
    problem: &Problem<'_>,
    solved: &SolvedPlan<'_>,
) -> Vec<String> {
    let SolvedPlan { scheme, plan, .. } = solved;
    let fleet = problem.fleet();
    let mut lines = vec![solved.rule().to_owned()];
    let at_cap = plan.q().iter().zip(fleet.availability()).filter(|(q, cap)| q >= cap).count();
    if at_cap > 0 && !scheme.is_baseline() {
        lines.push(format!("{} at the cap: worth having whenever available.", devices(at_cap)));
    }
    let model = settings.planning.constants.map(|constants| RoundModel::new(problem, constants));
    if let Some(model) = model.filter(|_| scheme.needs_constants()) {
        let floors = fleet.weights().iter().map(|&weight| model.surrogate_floor(weight));
        let below = plan.q().iter().zip(floors).filter(|(q, floor)| **q <= *floor).count();
        if below > 0 {
            let below = devices(below);
            lines.push(format!(
                "{below} below the floor a²N/β that the paper puts on q: only its surrogate P3 needs it."
            ));
        }
    }
    if plan.status() == PlanStatus::Unreachable {
        let (worst, variance) = problem::largest_term(fleet, plan.q());
        let (device, variance) = (name(fleet.name(worst)), significant(variance, 3));
        let (weight, q) = (percent(fleet.weights()[worst]), significant(plan.q()[worst], 3));
        let exact = settings.dialect.scheme(&Scheme::Exact);
        let remedy = match scheme.needs_variance() {
            true => {
                let variance = settings.dialect.setting("variance");
                format!("ask for less variance ({variance}), or plan with {exact}")
            }
            false => format!("raise q there, or plan with {exact}"),
        };
        lines.push(format!("{device} alone adds {variance} (a = {weight}, q = {q}): {remedy}."));
    }
    if let Some(model) = model {
        lines.extend(against_full_participation(problem, model, solved));
    }
    lines
}

/// The familiar yardstick: every device in every round.
fn against_full_participation(
    problem: &Problem<'_>,
    model: RoundModel<'_, '_>,
    solved: &SolvedPlan<'_>,
) -> Option<String> {
    let fleet = problem.fleet();
    let always = |shares: &[f64]| shares.iter().all(|&share| share >= 1.0);
    let comparable = always(fleet.availability()) && !always(solved.plan.q());
    let total_secs = solved.outlook.evaluation.total_secs.filter(|&secs| comparable && secs > 0.0);
    let (rounds, planned_secs) = model.rounds(fleet.availability()).zip(total_secs)?;
    let everybody = (0..fleet.len()).map(|device| problem.job(device));
    let round_secs = problem.cohort_secs(everybody) + problem.overhead_secs();
    let total_secs = rounds * round_secs;
    let [round, total] = [round_secs, total_secs].map(duration);
    let [rounds, ratio] =
        [(rounds, 4), (total_secs / planned_secs, 3)].map(|(value, digits)| significant(value, digits));
    Some(format!("Full participation: {rounds} rounds × {round} = {total}, {ratio} × this plan."))
}
