//! A plan in words and tables: what it is, what it leads to, and why.

use std::io::Write;

use fedflip_fleet::bandwidth::{self, Division};
use fedflip_plan::{Interval, PlanStatus, Problem, Scheme, problem};

use super::groups;
use super::plan::Planned;
use crate::error::CliError;
use crate::render::{Table, devices, duration, name, percent, range, significant};
use crate::settings::{ConstantsSource, PlanSettings};

/// A fleet of up to this many devices is listed device by device.
const LISTED_DEVICES_MAX: usize = 20;

pub(super) fn write(
    output: &mut dyn Write,
    settings: &PlanSettings,
    problem: &Problem<'_>,
    planned: &Planned,
) -> Result<(), CliError> {
    let (plan, fleet) = (&planned.plan, problem.fleet());
    let certificate = match (plan.kkt_residual(), plan.convex_programs()) {
        (_, programs @ 1..) => format!(", {programs} convex programs"),
        (Some(residual), _) => format!(", KKT residual {}", significant(residual, 1)),
        (None, _) => String::new(),
    };
    writeln!(output, "{}: {} share {}", settings.file, devices(fleet.len()), problem.band())?;
    writeln!(output, "  round model  R(q) = α/(β − Σ a²/q), {}", describe(&settings.constants))?;
    writeln!(
        output,
        "  scheme       {}: {}{certificate}, solved in {}",
        plan.scheme(),
        plan.status().name(),
        duration(planned.solve_secs)
    )?;
    writeln!(output)?;
    participation(output, problem, planned, settings.list_devices)?;
    writeln!(output)?;
    outcome(output, settings, planned)?;
    writeln!(output)?;
    reasons(output, problem, planned)
}

fn describe(source: &ConstantsSource) -> String {
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
        ConstantsSource::Unknown { .. } => "α and β not known".to_owned(),
        ConstantsSource::Given(given) => format!("α = {}, β = {} as given", given.alpha(), given.beta()),
        ConstantsSource::Pilots { fit, count } => format!(
            "from {count} pilots: α = {alpha}{}, β = {beta}{}",
            interval(fit.alpha_interval),
            interval(fit.beta_interval)
        ),
    }
}

/// Who takes part how often: by type, or device by device.
fn participation(
    output: &mut dyn Write,
    problem: &Problem<'_>,
    planned: &Planned,
    list_devices: bool,
) -> Result<(), CliError> {
    let (fleet, q) = (problem.fleet(), planned.plan.q());
    let weights = planned.plan.aggregation_weights();
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

/// What a round and the whole training look like.
fn outcome(output: &mut dyn Write, settings: &PlanSettings, planned: &Planned) -> Result<(), CliError> {
    let evaluation = &planned.evaluation;
    let round = evaluation.round_secs;
    writeln!(
        output,
        "  a round      {} devices on average; {} of rounds have nobody",
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
    let noise = significant(evaluation.sampling_noise, 4);
    let Some(constants) = settings.constants.known() else {
        writeln!(
            output,
            "  to target    sampling noise Σ a²/q = {noise}; how many rounds that takes, α and β or pilots would say"
        )?;
        return Ok(());
    };
    let beta = significant(constants.beta(), 4);
    match (evaluation.rounds, evaluation.total_secs) {
        (Some(rounds), Some(total_secs)) => writeln!(
            output,
            "  to target    sampling noise Σ a²/q = {noise} of β = {beta}: {} rounds × {} = {}",
            significant(rounds, 4),
            duration(round.mean.mean),
            duration(total_secs)
        )?,
        _ => {
            writeln!(output, "  to target    never: the sampling noise Σ a²/q = {noise} reaches β = {beta}")?;
        }
    }
    Ok(())
}

/// Why the plan is what it is.
fn reasons(output: &mut dyn Write, problem: &Problem<'_>, planned: &Planned) -> Result<(), CliError> {
    let (plan, fleet) = (&planned.plan, problem.fleet());
    let rule = match plan.scheme() {
        Scheme::Exact => {
            "q = a·√(ρ/c) up to the cap: twice the data, twice as often; four times the cost c = t/f + τ, half as often."
        }
        Scheme::Auto => {
            "as exact, for the noise that is allowed (--noise; caps may add to it) instead of half the β of pilots."
        }
        Scheme::Paper | Scheme::PaperLinesearch => {
            "q = lo + s·√(lo/c) up to the cap, lo = a²N/β: the paper's surrogate keeps every device above its floor lo."
        }
        Scheme::Tight => {
            "as exact, but a device's compute time counts only where it makes the slowest of the round slower."
        }
        Scheme::Sampled => {
            "as exact, but a device costs what its presence adds to the mean round, all things counted."
        }
        Scheme::Full if plan.capped() > 0 => "everybody as often as they are available.",
        Scheme::Full => "everybody in every round: the fewest rounds, the longest ones.",
        Scheme::Fixed(_) | Scheme::Uniform => "the same q for all, whatever they cost or hold.",
        Scheme::Weighted => "q is the share of the data, whatever a device costs.",
    };
    writeln!(output, "  why          {rule}")?;
    let at_cap = plan.q().iter().zip(fleet.availability()).filter(|(q, cap)| q >= cap).count();
    if at_cap > 0 && !plan.scheme().is_baseline() {
        let who = devices(at_cap);
        writeln!(output, "               {who} at the cap: worth having whenever they can be had.")?;
    }
    let below = (0..fleet.len()).filter(|&n| plan.q()[n] <= problem.surrogate_floor(n)).count();
    if plan.scheme() == Scheme::Exact && below > 0 {
        let who = devices(below);
        writeln!(
            output,
            "               {who} below the floor a²N/β that the paper puts on q: only its surrogate P3 needs it."
        )?;
    }
    if plan.status() == PlanStatus::Unreachable {
        let worst = problem::noisiest(fleet, plan.q());
        writeln!(
            output,
            "               {} alone adds {} (a = {}, q = {}): {}.",
            name(fleet.name(worst.0)),
            significant(worst.1, 3),
            percent(fleet.weights()[worst.0]),
            significant(plan.q()[worst.0], 3),
            match plan.scheme() {
                Scheme::Auto => "allow less noise (--noise), or let exact plan it",
                _ => "raise q there, or let exact plan it",
            }
        )?;
    }
    // The yardstick that everybody knows: everyone, every round.
    if plan.scheme() != Scheme::Full
        && let (Some(rounds), Some(total_secs)) =
            (problem.rounds(fleet.availability()), planned.evaluation.total_secs)
        && fleet.availability().iter().all(|&cap| cap >= 1.0)
        && total_secs > 0.0
    {
        let everybody: Vec<usize> = (0..fleet.len()).collect();
        let round_secs =
            bandwidth::allocate(fleet, &everybody, problem.band(), Division::Adaptive).round_secs;
        writeln!(
            output,
            "               With everybody in: {} rounds × {} = {}, {} × this plan.",
            significant(rounds, 4),
            duration(round_secs),
            duration(rounds * round_secs),
            significant(rounds * round_secs / total_secs, 3)
        )?;
    }
    Ok(())
}

/// One duration if all are alike, otherwise from – to.
fn cost_range((low, high): (f64, f64)) -> String {
    if high > low { format!("{} – {}", duration(low), duration(high)) } else { duration(low) }
}
