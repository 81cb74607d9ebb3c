//! A plan in words and tables: participation, outcome and reasons.

use std::io::Write;

use fedflip_plan::{Interval, PlanStatus, Problem, RoundModel, problem};

use super::groups;
use super::plan::SolvedPlan;
use crate::costs::describe as describe_costs;
use crate::error::CliError;
use crate::render::{Table, devices, duration, name, percent, range, significant};
use crate::settings::{ConstantsSource, PlanSettings};

/// A fleet of up to this many devices is listed device by device.
const LISTED_DEVICES_MAX: usize = 20;
/// Fewer participants than this are printed as less than 1.00.
const ABOUT_ONE: f64 = 0.995;

pub(super) fn write(
    output: &mut dyn Write,
    settings: &PlanSettings<'_>,
    problem: &Problem<'_>,
    solved: &SolvedPlan,
) -> Result<(), CliError> {
    let (plan, fleet) = (&solved.plan, problem.fleet());
    let certificate = match (plan.kkt_residual(), plan.convex_programs(), solved.optimality_gap) {
        (_, _, Some(gap)) => format!(", proven to be within {} of the optimum", small_share(gap)),
        (_, programs @ 1.., _) => format!(", {programs} convex programs"),
        (Some(residual), _, _) => format!(", KKT residual {}", significant(residual, 1)),
        (None, _, _) => String::new(),
    };
    let status = plan.status().name();
    let solved_in = duration(solved.solve_secs);
    writeln!(output, "{}: {} {}", settings.file(), devices(fleet.len()), describe_costs(problem.costs()))?;
    let model = format!("R(q) = α/(β − Σ a²/q), {}", describe(settings.constants));
    paragraph(output, "round model", &[model])?;
    let scheme = format!("{}: {status}{certificate}, solved in {solved_in}", solved.scheme);
    paragraph(output, "scheme", &[scheme])?;
    writeln!(output)?;
    participation(output, problem, solved, settings.args.devices)?;
    writeln!(output)?;
    paragraph(output, "a round", &round(settings, solved))?;
    paragraph(output, "to target", &[to_target(settings, solved)])?;
    writeln!(output)?;
    paragraph(output, "why", &reasons(settings, problem, solved)?)
}

/// Lines beside a label.
fn paragraph(output: &mut dyn Write, label: &str, lines: &[String]) -> Result<(), CliError> {
    for (line, label) in lines.iter().zip(std::iter::once(label).chain(std::iter::repeat(""))) {
        writeln!(output, "  {label:<13}{line}")?;
    }
    Ok(())
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
    // The mean weight of a device's updates, whichever way cohorts are drawn, where the sum is unbiased.
    let weight = |shown: String| if solved.scheme.method().is_unbiased() { shown } else { "–".to_owned() };
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
                weight(format!("up to {}", significant(group.range(weights).1, 3))),
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
            weight(significant(weights[n], 3)),
        ]);
    }
    table.write(output)?;
    if listed < fleet.len() {
        writeln!(output, "  … and {} more; --devices lists all", devices(fleet.len() - listed))?;
    }
    Ok(())
}

/// The size and the length of a round.
fn round(settings: &PlanSettings<'_>, solved: &SolvedPlan) -> Vec<String> {
    let evaluation = &solved.evaluation;
    let participants = significant(evaluation.expected_participants, 3);
    let Some(round) = evaluation.round_secs else {
        return vec![
            format!("{participants} devices on average; what devices report in a run decides which"),
            "no prediction: the cohorts of a run are not known before it".to_owned(),
        ];
    };
    let empty = percent(evaluation.empty_round_probability.unwrap_or(0.0));
    let [mean, error, theorem, linear] =
        [round.mean.mean, round.mean.std_error, round.theorem2_bound, round.linear_bound].map(duration);
    let printed = round.expected_bandwidth.map_or("–".to_owned(), duration);
    if !solved.scheme.method().flips_coins() {
        return vec![
            format!("{participants} different devices on average; no round is empty"),
            format!("{mean} ± {error} (one standard error; bound: Σ q c {linear})"),
        ];
    }
    let mut lines = vec![
        format!("{participants} devices on average; {empty} of rounds are empty"),
        format!(
            "{mean} ± {error} (one standard error; bounds: Theorem 2 {theorem}, Σ q c {linear}; paper's T(q): {printed})"
        ),
    ];
    // A plan that never reaches its target is not sensible.
    let is_reachable =
        settings.planning.constants.is_none_or(|constants| evaluation.sampling_variance < constants.beta());
    if evaluation.expected_participants < ABOUT_ONE && !solved.scheme.is_baseline() && is_reachable {
        let empty = match round.overhead > 0.0 {
            true => format!("only the overhead of {}", duration(round.overhead)),
            false => "no time".to_owned(),
        };
        lines.push(format!(
            "Fewer than one device per round is sensible here: an empty round takes {empty}, and the total time counts, \
             not the number of rounds."
        ));
    }
    lines
}

/// The predicted rounds and the predicted time to the target.
fn to_target(settings: &PlanSettings<'_>, solved: &SolvedPlan) -> String {
    let evaluation = &solved.evaluation;
    if !solved.scheme.method().flips_coins() {
        return "no prediction: the round model is about independent coins".to_owned();
    }
    let variance = format!("sampling variance Σ a²/q = {}", significant(evaluation.sampling_variance, 4));
    let Some(constants) = settings.planning.constants else {
        return format!("{variance}; the number of rounds is unknown without α and β, or pilots");
    };
    let beta = significant(constants.beta(), 4);
    let predicted = evaluation.rounds.zip(evaluation.total_secs).zip(evaluation.round_secs);
    let Some(((rounds, total_secs), round_secs)) = predicted else {
        return format!("never: the {variance} reaches β = {beta}");
    };
    let [round, total] = [round_secs.mean.mean, total_secs].map(duration);
    let overhead_secs = round_secs.overhead;
    let without = match overhead_secs > 0.0 {
        true => format!(" ({} without the overhead)", duration(total_secs - rounds * overhead_secs)),
        false => String::new(),
    };
    format!("{variance} of β = {beta}: {} rounds × {round} = {total}{without}", significant(rounds, 4))
}

/// Why the plan is what it is.
fn reasons(
    settings: &PlanSettings<'_>,
    problem: &Problem<'_>,
    solved: &SolvedPlan,
) -> Result<Vec<String>, CliError> {
    let SolvedPlan { scheme, plan, .. } = solved;
    let fleet = problem.fleet();
    let mut lines = vec![scheme.describe().rule.to_owned()];
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
        let remedy = match scheme.needs_variance() {
            true => "ask for less variance (--variance), or plan with --scheme exact",
            false => "raise q there, or plan with --scheme exact",
        };
        lines.push(format!("{device} alone adds {variance} (a = {weight}, q = {q}): {remedy}."));
    }
    if let Some(model) = model {
        lines.extend(against_full_participation(problem, model, solved));
    }
    Ok(lines)
}

/// The familiar yardstick: every device in every round.
fn against_full_participation(
    problem: &Problem<'_>,
    model: RoundModel<'_, '_>,
    solved: &SolvedPlan,
) -> Option<String> {
    let fleet = problem.fleet();
    let always = |shares: &[f64]| shares.iter().all(|&share| share >= 1.0);
    let comparable = always(fleet.availability()) && !always(solved.plan.q());
    let total_secs = solved.evaluation.total_secs.filter(|&secs| comparable && secs > 0.0);
    let (rounds, planned_secs) = model.rounds(fleet.availability()).zip(total_secs)?;
    let everybody = (0..fleet.len()).map(|device| problem.job(device));
    let round_secs = problem.cohort_secs(everybody) + problem.overhead_secs();
    let total_secs = rounds * round_secs;
    let [round, total] = [round_secs, total_secs].map(duration);
    let [rounds, ratio] =
        [(rounds, 4), (total_secs / planned_secs, 3)].map(|(value, digits)| significant(value, digits));
    Some(format!("Full participation: {rounds} rounds × {round} = {total}, {ratio} × this plan."))
}

/// A share that may be far below a per cent.
fn small_share(share: f64) -> String {
    match share {
        share if share < 1e-4 => format!("{} %", significant(100.0 * share, 1)),
        share => percent(share),
    }
}

/// One duration if all are alike, otherwise from – to.
fn cost_range((low, high): (f64, f64)) -> String {
    if high > low { format!("{} – {}", duration(low), duration(high)) } else { duration(low) }
}
