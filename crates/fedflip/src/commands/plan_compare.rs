//! `fedflip plan --compare`: every scheme side by side.

use std::io::Write;

use fedflip_plan::{PlanError, Problem, Scheme};
use serde::Serialize;

use super::plan::Planned;
use super::plan_json::PlanJson;
use super::print_json;
use crate::error::CliError;
use crate::progress::warn;
use crate::render::{Table, devices, duration, percent, significant};
use crate::settings::PlanSettings;

#[derive(Serialize)]
struct ComparisonJson<'a> {
    bandwidth_mbps: f64,
    alpha: f64,
    beta: f64,
    schemes: Vec<EntryJson<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EntryJson<'a> {
    Planned(Box<PlanJson<'a>>),
    Refused { scheme: String, status: &'static str, error: String, hint: String },
}

/// A scheme and its plan, or why it has none.
type Entry = (Scheme, Result<Planned, PlanError>);

/// Algorithm 2 as printed is there to be compared with, not to be waited for.
const LINE_SEARCH_DEVICES_MAX: usize = 300;

pub(super) fn run(settings: &PlanSettings, output: &mut dyn Write) -> Result<(), CliError> {
    let problem = settings.problem()?;
    settings.constants.warning().into_iter().for_each(warn);
    let entries: Vec<Entry> =
        Scheme::ALL.into_iter().map(|scheme| (scheme, plan(&problem, scheme, settings))).collect();
    if !settings.json {
        return write_table(output, settings, &problem, &entries);
    }
    let schemes = entries.iter().map(|(scheme, entry)| match entry {
        Ok(planned) => EntryJson::Planned(Box::new(PlanJson::new(&problem, settings, planned))),
        Err(error) => EntryJson::Refused {
            scheme: scheme.to_string(),
            status: refusal(error),
            error: error.to_string(),
            hint: error.hint(),
        },
    });
    let comparison = ComparisonJson {
        bandwidth_mbps: problem.band().get(),
        alpha: problem.constants().alpha(),
        beta: problem.constants().beta(),
        schemes: schemes.collect(),
    };
    print_json(output, &comparison)
}

fn plan(problem: &Problem<'_>, scheme: Scheme, settings: &PlanSettings) -> Result<Planned, PlanError> {
    let devices = problem.fleet().len();
    if scheme == Scheme::PaperLinesearch && devices > LINE_SEARCH_DEVICES_MAX {
        return Err(PlanError::FleetTooLarge {
            scheme: "a comparison with paper-linesearch",
            devices,
            devices_max: LINE_SEARCH_DEVICES_MAX,
            hint: "plan with --scheme paper-linesearch by itself",
        });
    }
    Planned::new(problem, scheme, settings)
}

/// Why there is no plan, in one word.
fn refusal(error: &PlanError) -> &'static str {
    match error {
        PlanError::SurrogateInfeasible { .. } => "infeasible",
        PlanError::FleetTooLarge { .. } => "skipped",
        _ => "failed",
    }
}

fn write_table(
    output: &mut dyn Write,
    settings: &PlanSettings,
    problem: &Problem<'_>,
    entries: &[Entry],
) -> Result<(), CliError> {
    let constants = problem.constants();
    writeln!(
        output,
        "{}: {} share {}; α = {}, β = {}\n",
        settings.file,
        devices(problem.fleet().len()),
        problem.band(),
        significant(constants.alpha(), 5),
        significant(constants.beta(), 5)
    )?;
    let totals = entries.iter().filter_map(|(_, entry)| entry.as_ref().ok()?.evaluation.total_secs);
    let best_secs = totals.fold(f64::INFINITY, f64::min);
    let titles = "scheme|status|in a round|rounds|a round|total|±|× best|P2 objective|solved in";
    let mut table = Table::new(&titles.split('|').collect::<Vec<_>>());
    for (scheme, entry) in entries {
        table.row(match entry {
            Ok(planned) => row(*scheme, planned, best_secs),
            Err(error) => vec![scheme.to_string(), refusal(error).to_owned()],
        });
    }
    table.write(output)?;
    writeln!(output, "\n  total = rounds × mean round, ± one standard error of it")?;
    writeln!(output, "  P2 objective = rounds × Σ q c, the paper's upper bound of the total")?;
    for (scheme, entry) in entries {
        let remarks = match entry {
            Ok(planned) => planned.warnings.clone(),
            Err(error) => vec![error.to_string()],
        };
        for remark in remarks {
            writeln!(output, "  {scheme}: {remark}")?;
        }
    }
    Ok(())
}

fn row(scheme: Scheme, planned: &Planned, best_secs: f64) -> Vec<String> {
    let evaluation = &planned.evaluation;
    let round = evaluation.round_secs.mean;
    let or_never = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("–".to_owned(), show);
    vec![
        scheme.to_string(),
        planned.plan.status().name().to_owned(),
        significant(evaluation.expected_participants, 3),
        or_never(evaluation.rounds, &|rounds| significant(rounds, 4)),
        duration(round.mean),
        or_never(evaluation.total_secs, &duration),
        or_never(evaluation.total_secs, &|_| percent(round.std_error / round.mean)),
        or_never(evaluation.total_secs, &|secs| format!("{:.2}", secs / best_secs)),
        or_never(evaluation.objective_p2, &duration),
        duration(planned.solve_secs),
    ]
}
