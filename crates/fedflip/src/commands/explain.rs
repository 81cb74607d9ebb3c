//! A plan in words and tables: participation, outcome and reasons.

use std::io::Write;

use fedflip_fleet::bandwidth::{self, Division};
use fedflip_plan::{Interval, PlanStatus, Problem, RoundModel, problem};

use super::groups;
use super::plan::SolvedPlan;
use crate::error::CliError;
use crate::render::{Table, devices, duration, name, percent, range, significant};
use crate::settings::{ConstantsSource, PlanSettings};

/// A fleet of up to this many devices is listed device by device.
const LISTED_DEVICES_MAX: usize = 20;
/// Fewer participants than this are printed as less than 1.00.
const ABOUT_ONE: f64 = 0.995;

pub(super) fn write(
    output: &mut dyn Write,
    settings: &PlanSettings,
    problem: &Problem<'_>,
    solved: &SolvedPlan,
) -> Result<(), CliError> {
    let (plan, fleet) = (&solved.plan, problem.fleet());
    let certificate = match (plan.kkt_residual(), plan.convex_programs()) {
        (_, programs @ 1..) => format!(", {programs} convex programs"),
        (Some(residual), _) => format!(", KKT residual {}", significant(residual, 1)),
        (None, _) => String::new(),
    };
    writeln!(output, "{}: {} share {}", settings.file, devices(fleet.len()), problem.bandwidth())?;
    writeln!(output, "  round model  R(q) = α/(β − Σ a²/q), {}", describe(settings.constants))?;
    writeln!(
        output,
        "  scheme       {}: {}{certificate}, solved in {}",
        solved.scheme,
        plan.status().name(),
        duration(solved.solve_secs)
    )?;
    writeln!(output)?;
    participation(output, problem, solved, settings.list_devices)?;
    writeln!(output)?;
    outcome(output, settings, solved)?;
    writeln!(output)?;
    reasons(output, settings, problem, solved)
}

fn describe(source: Option<ConstantsSource>) -> String {
    let Some(source) = source else { return "α and β unknown".to_owned() };
    let constants = source.constants();
    let (alpha, beta) = (significant(constants.alpha(), 5), significant(constants.beta(), 5));
    let end = |end: f64| match end {
        f64::INFINITY => "∞".to_owned(),
        f64::NEG_INFINITY => "−∞".to_owned(),
        end => significant(end, 3),
    };
    let interval = |interval: Option<Interval>| match interval {
        Some(Interval { low, high }) => format!(" (95 %: {} to {})", end(low), end(high)),
        None => String::new(),
    };
    match source {
        ConstantsSource::Given(given) => format!("α = {}, β = {} as given", given.alpha(), given.beta()),
        ConstantsSource::Pilots { fit, count } => format!(
            "from {count} pilots: α = {alpha}{}, β = {beta}{}",
            interval(fit.alpha_interval),
            interval(fit.beta_interval)
        ),
    }
}

/// The participation probabilities, by type or device by device.
fn participation(
    output: &mut dyn Write,
    problem: &Problem<'_>,
    solved: &SolvedPlan,
    list_devices: bool,
) -> Result<(), CliError> {
    let (fleet, q) = (problem.fleet(), solved.plan.q());
    let weights = solved.plan.aggregation_weights();
    let groups =
        if list_devices || fleet.len() <= LISTED_DEVICES_MAX { None } else { groups::by_type(fleet) };
    if let Some(groups) = groups {
        let titles = ["type", "devices", "share of data", "cost c", "q", "in a round", "weight a/q"];
        let mut table = Table::new(&titles);
        for group in &groups {
            table.row(vec![
                group.name.clone(),
                group.positions.len().to_string(),
                percent(group.sum(fleet.weights())),
                cost_range(group.range(problem.cost_secs())),
                range(group.range(q), ""),
                significant(group.sum(q), 3),
                format!("up to {}", significant(group.range(weights).1, 3)),
            ]);
        }
        table.write(output)?;
        return Ok(());
    }
    let mut table =
        Table::new(&["device", "compute", "send at 1 Mbit/s", "share of data", "cost c", "q", "weight a/q"]);
    let listed = if list_devices { fleet.len() } else { fleet.len().min(LISTED_DEVICES_MAX) };
    for n in 0..listed {
        table.row(vec![
            name(fleet.name(n)),
            duration(fleet.compute_secs()[n]),
            duration(fleet.comm_secs()[n]),
            percent(fleet.weights()[n]),
            duration(problem.cost_secs()[n]),
            significant(q[n], 3) + if q[n] >= fleet.availability()[n] { " (cap)" } else { "" },
            significant(weights[n], 3),
        ]);
    }
    table.write(output)?;
    if listed < fleet.len() {
        writeln!(output, "  … and {} more; --devices lists all", devices(fleet.len() - listed))?;
    }
    Ok(())
}

/// The predicted rounds and the predicted time to the target.
fn outcome(output: &mut dyn Write, settings: &PlanSettings, solved: &SolvedPlan) -> Result<(), CliError> {
    let evaluation = &solved.evaluation;
    let round = evaluation.round_secs;
    writeln!(
        output,
        "  a round      {} devices on average; {} of rounds are empty",
        significant(evaluation.expected_participants, 3),
        percent(evaluation.empty_round_probability)
    )?;
    writeln!(
        output,
        "               {} ± {} (one standard error; bounds: Theorem 2 {}, Σ q c {}; paper's T(q): {})",
        duration(round.mean.mean),
        duration(round.mean.std_error),
        duration(round.theorem2_bound),
        duration(round.linear_bound),
        duration(round.expected_bandwidth)
    )?;
    if evaluation.expected_participants < ABOUT_ONE && !solved.scheme.is_baseline() {
        writeln!(
            output,
            "               Fewer than one device per round is sensible here: an empty round takes no time, and the \
             total time counts, not the number of rounds."
        )?;
    }
    let variance = significant(evaluation.sampling_variance, 4);
    let Some(constants) = settings.planning.constants else {
        writeln!(
            output,
            "  to target    sampling variance Σ a²/q = {variance}; the number of rounds is unknown without α and β, or \
             pilots"
        )?;
        return Ok(());
    };
    let beta = significant(constants.beta(), 4);
    match (evaluation.rounds, evaluation.total_secs) {
        (Some(rounds), Some(total_secs)) => writeln!(
            output,
            "  to target    sampling variance Σ a²/q = {variance} of β = {beta}: {} rounds × {} = {}",
            significant(rounds, 4),
            duration(round.mean.mean),
            duration(total_secs)
        )?,
        _ => {
            writeln!(
                output,
                "  to target    never: the sampling variance Σ a²/q = {variance} reaches β = {beta}"
            )?;
        }
    }
    Ok(())
}

/// Why the plan is what it is.
fn reasons(
    output: &mut dyn Write,
    settings: &PlanSettings,
    problem: &Problem<'_>,
    solved: &SolvedPlan,
) -> Result<(), CliError> {
    let SolvedPlan { scheme, plan, .. } = solved;
    let fleet = problem.fleet();
    writeln!(output, "  why          {}", scheme.describe().rule)?;
    let at_cap = plan.q().iter().zip(fleet.availability()).filter(|(q, cap)| q >= cap).count();
    if at_cap > 0 && !scheme.is_baseline() {
        let count = devices(at_cap);
        writeln!(output, "               {count} at the cap: worth having whenever available.")?;
    }
    let model = settings.planning.constants.map(|constants| RoundModel::new(problem, constants));
    if let Some(model) = model.filter(|_| scheme.needs_constants()) {
        let floors = fleet.weights().iter().map(|&weight| model.surrogate_floor(weight));
        let below = plan.q().iter().zip(floors).filter(|(q, floor)| **q <= *floor).count();
        if below > 0 {
            writeln!(
                output,
                "               {} below the floor a²N/β that the paper puts on q: only its surrogate P3 needs it.",
                devices(below)
            )?;
        }
    }
    if plan.status() == PlanStatus::Unreachable {
        let (worst, variance) = problem::largest_term(fleet, plan.q());
        writeln!(
            output,
            "               {} alone adds {} (a = {}, q = {}): {}.",
            name(fleet.name(worst)),
            significant(variance, 3),
            percent(fleet.weights()[worst]),
            significant(plan.q()[worst], 3),
            match scheme.needs_variance() {
                true => "ask for less variance (--variance), or plan with --scheme exact",
                false => "raise q there, or plan with --scheme exact",
            }
        )?;
    }
    model.map_or(Ok(()), |model| against_full_participation(output, problem, model, solved))
}

/// The familiar yardstick: every device in every round.
fn against_full_participation(
    output: &mut dyn Write,
    problem: &Problem<'_>,
    model: RoundModel<'_, '_>,
    solved: &SolvedPlan,
) -> Result<(), CliError> {
    let fleet = problem.fleet();
    let always = |shares: &[f64]| shares.iter().all(|&share| share >= 1.0);
    let comparable = always(fleet.availability()) && !always(solved.plan.q());
    let total_secs = solved.evaluation.total_secs.filter(|&secs| comparable && secs > 0.0);
    let (Some(rounds), Some(total_secs)) = (model.rounds(fleet.availability()), total_secs) else {
        return Ok(());
    };
    let everybody: Vec<usize> = (0..fleet.len()).collect();
    let round_secs =
        bandwidth::allocate(fleet, &everybody, problem.bandwidth(), Division::Adaptive)?.round_secs;
    writeln!(
        output,
        "               Full participation: {} rounds × {} = {}, {} × this plan.",
        significant(rounds, 4),
        duration(round_secs),
        duration(rounds * round_secs),
        significant(rounds * round_secs / total_secs, 3)
    )?;
    Ok(())
}

/// One duration if all are alike, otherwise from – to.
fn cost_range((low, high): (f64, f64)) -> String {
    if high > low { format!("{} – {}", duration(low), duration(high)) } else { duration(low) }
}
