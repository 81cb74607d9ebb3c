//! `fedflip plan --compare`: every scheme side by side.

use std::io::Write;

use fedflip_plan::{Constants, PlanError, Problem, Scheme};
use fedflip_record::RecordedCosts;
use serde::Serialize;

use super::plan::{SolvedPlan, warn_of_constants};
use super::plan_json::PlanJson;
use super::print_json;
use crate::advice;
use crate::costs::describe;
use crate::error::CliError;
use crate::render::{Table, devices, duration, percent, significant};
use crate::settings::PlanSettings;

#[derive(Serialize)]
struct ComparisonJson<'a> {
    bandwidth_mbps: Option<f64>,
    costs: RecordedCosts,
    alpha: Option<f64>,
    beta: Option<f64>,
    schemes: Vec<EntryJson<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EntryJson<'a> {
    Planned(Box<PlanJson<'a>>),
    Refused { scheme: String, status: &'static str, error: &'a str, hint: &'a str },
}

/// Why a scheme has no plan.
struct Refusal {
    status: &'static str,
    problem: String,
    hint: String,
}

impl From<PlanError> for Refusal {
    fn from(error: PlanError) -> Self {
        let status = match error {
            PlanError::SurrogateInfeasible { .. } => "infeasible",
            PlanError::FleetTooLarge { .. } | PlanError::NoRounds { .. } => "skipped",
            PlanError::ConstantsMissing { .. } => NEEDS_CONSTANTS,
            _ => "failed",
        };
        Self { status, problem: error.to_string(), hint: advice::plan_hint(&error) }
    }
}

const NEEDS_CONSTANTS: &str = "needs-constants";

/// A scheme and its plan, or why it has none.
type Entry = (Scheme, Result<SolvedPlan, Refusal>);

/// Algorithm 2 as printed takes minutes for larger fleets, and a comparison should not.
const LINE_SEARCH_DEVICES_MAX: usize = 300;

pub(super) fn run(settings: &PlanSettings<'_>, output: &mut dyn Write) -> Result<(), CliError> {
    let problem = settings.problem();
    warn_of_constants(settings);
    let entries: Vec<Entry> =
        Scheme::ALL.into_iter().map(|scheme| (scheme.clone(), plan(&problem, scheme, settings))).collect();
    if !settings.args.json {
        return write_table(output, settings, &entries);
    }
    let schemes = entries.iter().map(|(scheme, entry)| match entry {
        Ok(solved) => EntryJson::Planned(Box::new(PlanJson::new(settings, solved))),
        Err(Refusal { status, problem, hint }) => {
            EntryJson::Refused { scheme: scheme.to_string(), status, error: problem, hint }
        }
    });
    let constants = settings.planning.constants;
    let comparison = ComparisonJson {
        bandwidth_mbps: settings.args.costs.band.bandwidth,
        costs: settings.costs.into(),
        alpha: constants.map(Constants::alpha),
        beta: constants.map(Constants::beta),
        schemes: schemes.collect(),
    };
    print_json(output, &comparison)
}

fn plan(problem: &Problem<'_>, scheme: Scheme, settings: &PlanSettings<'_>) -> Result<SolvedPlan, Refusal> {
    let devices = problem.fleet().len();
    let known = settings.planning.constants.is_some();
    if known && scheme.has_line_search() && devices > LINE_SEARCH_DEVICES_MAX {
        return Err(Refusal {
            status: "skipped",
            problem: format!(
                "a comparison leaves out {scheme} for more than {LINE_SEARCH_DEVICES_MAX} devices, and the fleet has \
                 {devices}"
            ),
            hint: format!("plan with --scheme {scheme} alone"),
        });
    }
    Ok(SolvedPlan::new(problem, scheme, settings)?)
}

fn write_table(
    output: &mut dyn Write,
    settings: &PlanSettings<'_>,
    entries: &[Entry],
) -> Result<(), CliError> {
    let constants = match settings.planning.constants {
        Some(constants) => {
            format!("α = {}, β = {}", significant(constants.alpha(), 5), significant(constants.beta(), 5))
        }
        None => "α and β are unknown".to_owned(),
    };
    let (devices, costs) = (devices(settings.fleet.len()), describe(&settings.costs));
    writeln!(output, "{}: {devices} {costs}; {constants}\n", settings.file())?;
    let totals = entries.iter().filter_map(|(_, entry)| entry.as_ref().ok()?.evaluation.total_secs);
    let best_secs = totals.fold(f64::INFINITY, f64::min);
    let known = settings.planning.constants.is_some();
    let titles = match known {
        true => "scheme|status|in a round|rounds|a round|total|±|× best|P2 objective|solved in",
        false => "scheme|status|in a round|Σ a²/q|a round|solved in",
    };
    let mut table = Table::new(&titles.split('|').collect::<Vec<_>>());
    let (unknown, shown): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|(_, entry)| needs_constants(entry.as_ref().err()));
    for (scheme, entry) in &shown {
        table.row(match entry {
            Ok(solved) if known => row(scheme, solved, best_secs),
            Ok(solved) => row_without_rounds(scheme, solved),
            Err(refusal) => vec![scheme.to_string(), refusal.status.to_owned()],
        });
    }
    table.write(output)?;
    writeln!(output)?;
    if known {
        writeln!(output, "  total = rounds × mean round, ± one standard error of it")?;
        writeln!(output, "  P2 objective = rounds × Σ q c, the paper's upper bound of the total")?;
    }
    for (scheme, entry) in &shown {
        let remarks = match entry {
            Ok(solved) => &solved.warnings[..],
            Err(refusal) => std::slice::from_ref(&refusal.problem),
        };
        for remark in remarks {
            writeln!(output, "  {scheme}: {remark}")?;
        }
    }
    if !unknown.is_empty() {
        let schemes: Vec<String> = unknown.iter().map(|(scheme, _)| scheme.to_string()).collect();
        let (schemes, how) = (schemes.join(", "), advice::GIVE_CONSTANTS);
        writeln!(output, "  Not shown: {schemes} need α and β, as does the number of rounds; {how}.")?;
    }
    Ok(())
}

fn row_without_rounds(scheme: &Scheme, solved: &SolvedPlan) -> Vec<String> {
    vec![
        scheme.to_string(),
        solved.plan.status().name().to_owned(),
        significant(solved.evaluation.expected_participants, 3),
        significant(solved.evaluation.sampling_variance, 4),
        solved.evaluation.round_secs.map_or("–".to_owned(), |round| duration(round.mean.mean)),
        duration(solved.solve_secs),
    ]
}

fn needs_constants(refusal: Option<&Refusal>) -> bool {
    refusal.is_some_and(|refusal| refusal.status == NEEDS_CONSTANTS)
}

fn row(scheme: &Scheme, solved: &SolvedPlan, best_secs: f64) -> Vec<String> {
    let evaluation = &solved.evaluation;
    let round = evaluation.round_secs.map(|round| round.mean);
    let or_never = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("–".to_owned(), show);
    vec![
        scheme.to_string(),
        solved.plan.status().name().to_owned(),
        significant(evaluation.expected_participants, 3),
        or_never(evaluation.rounds, &|rounds| significant(rounds, 4)),
        or_never(round.map(|round| round.mean), &duration),
        or_never(evaluation.total_secs, &duration),
        or_never(evaluation.total_secs.and(round).map(|round| round.std_error / round.mean), &percent),
        or_never(evaluation.total_secs, &|secs| format!("{:.2}", secs / best_secs)),
        or_never(evaluation.objective_p2, &duration),
        duration(solved.solve_secs),
    ]
}
