//! A plan in words and tables: participation, outcome and reasons.

use std::io::{self, Write};

use fedflip_plan::{Interval, Problem};

use super::groups;
use super::reasons::reasons;
use super::settings::{ConstantsSource, PlanSettings};
use super::solved::SolvedPlan;
use crate::costs::describe as describe_costs;
use crate::render::{Table, devices, duration, name, percent, range, significant};

/// A fleet of up to this many devices is listed device by device.
const LISTED_DEVICES_MAX: usize = 20;
/// Fewer participants than this are printed as less than 1.00.
const ABOUT_ONE: f64 = 0.995;

/// A plan for people, before a front end writes it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The fleet and the costs of a round.
    pub title: String,
    /// The round model and the scheme.
    pub settings: Vec<Paragraph>,
    /// The participation probabilities, by type or device by device.
    pub participation: Table,
    /// What the table leaves out.
    pub more: Option<String>,
    /// The size and the length of a round, and the way to the target.
    pub outcome: Vec<Paragraph>,
    /// Why the plan is what it is.
    pub reasons: Paragraph,
}

/// Lines beside a label.
#[derive(Clone, Debug)]
pub struct Paragraph {
    /// One or two words.
    pub label: &'static str,
    /// Sentences, or parts of one.
    pub lines: Vec<String>,
}

impl Explanation {
    /// Explains a plan. Larger fleets are grouped by type unless all devices are to be listed.
    pub fn new(
        settings: &PlanSettings,
        problem: &Problem<'_>,
        solved: &SolvedPlan<'_>,
        list_devices: bool,
    ) -> Self {
        let fleet = problem.fleet();
        let paragraph = |label, lines| Paragraph { label, lines };
        let model = format!("R(q) = α/(β − Σ a²/q), {}", describe(settings.constants));
        let (participation, more) = participation(settings, problem, solved, list_devices);
        Self {
            title: format!(
                "{}: {} {}",
                settings.source,
                devices(fleet.len()),
                describe_costs(problem.costs())
            ),
            settings: vec![
                paragraph("round model", vec![model]),
                paragraph("scheme", vec![describe_scheme(solved)]),
            ],
            participation,
            more,
            outcome: vec![
                paragraph("a round", round(settings, solved)),
                paragraph("to target", vec![to_target(settings, solved)]),
            ],
            reasons: paragraph("why", reasons(settings, problem, solved)),
        }
    }

    /// Writes the explanation for a terminal.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "{}", self.title)?;
        self.settings.iter().try_for_each(|paragraph| paragraph.write(output))?;
        writeln!(output)?;
        self.participation.write(output)?;
        if let Some(more) = &self.more {
            writeln!(output, "  {more}")?;
        }
        writeln!(output)?;
        self.outcome.iter().try_for_each(|paragraph| paragraph.write(output))?;
        writeln!(output)?;
        self.reasons.write(output)
    }
}

impl Paragraph {
    fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        for (line, label) in self.lines.iter().zip(std::iter::once(self.label).chain(std::iter::repeat(""))) {
            writeln!(output, "  {label:<13}{line}")?;
        }
        Ok(())
    }
}

/// The scheme, and how good its plan is.
fn describe_scheme(solved: &SolvedPlan<'_>) -> String {
    let (title, plan) = (solved.title(), &solved.plan);
    if solved.given {
        return title;
    }
    let certificate = match (plan.kkt_residual(), plan.convex_programs(), solved.outlook.optimality_gap) {
        (_, _, Some(gap)) => format!(", proven to be within {} of the optimum", small_share(gap)),
        (_, programs @ 1.., _) => format!(", {programs} convex programs"),
        (Some(residual), _, _) => format!(", KKT residual {}", significant(residual, 1)),
        (None, _, _) => String::new(),
    };
    let (status, solved_in) = (plan.status().name(), duration(solved.solve_secs));
    format!("{title}: {status}{certificate}, solved in {solved_in}")
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

/// The participation probabilities, by type or device by device, and what the table leaves out.
fn participation(
    settings: &PlanSettings,
    problem: &Problem<'_>,
    solved: &SolvedPlan<'_>,
    list_devices: bool,
) -> (Table, Option<String>) {
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
        return (table, None);
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
    let rest = fleet.len() - listed;
    let more =
        (rest > 0).then(|| format!("… and {} more; {}", devices(rest), settings.dialect.list_devices()));
    (table, more)
}

/// The size and the length of a round.
fn round(settings: &PlanSettings, solved: &SolvedPlan<'_>) -> Vec<String> {
    let evaluation = &solved.outlook.evaluation;
    let participants = significant(evaluation.expected_participants, 3);
    let Some(round) = evaluation.round_secs else {
        return vec![
            format!("{participants} devices on average; their reports in a run decide which devices"),
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
fn to_target(settings: &PlanSettings, solved: &SolvedPlan<'_>) -> String {
    let evaluation = &solved.outlook.evaluation;
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
