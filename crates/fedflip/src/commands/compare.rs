//! `fedflip plan --compare`: every scheme side by side.

use std::io::Write;

use fedflip_plan::{PlanError, Problem, Scheme};
use serde::Serialize;

use super::plan::Planned;
use super::plan_json::PlanJson;
use super::print_json;
use crate::args::PlanArgs;
use crate::error::CliError;
use crate::render::{Table, duration, significant};
use crate::settings::{ConstantsSource, band, read_fleet};

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
    Refused { scheme: String, status: &'static str, error: String },
}

pub(super) fn run(args: &PlanArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let band = band(args.bandwidth)?;
    let fleet = read_fleet(&args.fleet)?;
    let source = ConstantsSource::resolve(&args.constants, &fleet)?;
    let problem = Problem::new(&fleet, band, source.constants())?;
    let entries: Vec<(Scheme, Result<Planned, PlanError>)> =
        Scheme::ALL.into_iter().map(|scheme| (scheme, Planned::new(&problem, scheme, args))).collect();

    if args.json {
        let schemes = entries.iter().map(|(scheme, entry)| match entry {
            Ok(planned) => EntryJson::Planned(Box::new(planned.json(&problem, args.seed))),
            Err(error) => EntryJson::Refused {
                scheme: scheme.to_string(),
                status: "infeasible",
                error: error.to_string(),
            },
        });
        return print_json(
            output,
            &ComparisonJson {
                bandwidth_mbps: band.get(),
                alpha: problem.constants().alpha(),
                beta: problem.constants().beta(),
                schemes: schemes.collect(),
            },
        );
    }
    write_table(output, args, &problem, &entries)
}

fn write_table(
    output: &mut dyn Write,
    args: &PlanArgs,
    problem: &Problem<'_>,
    entries: &[(Scheme, Result<Planned, PlanError>)],
) -> Result<(), CliError> {
    let constants = problem.constants();
    writeln!(
        output,
        "{}: {} devices share {} Mbit/s; α = {}, β = {}\n",
        args.fleet,
        problem.fleet().len(),
        problem.band().get(),
        significant(constants.alpha(), 5),
        significant(constants.beta(), 5)
    )?;
    let planned = || entries.iter().filter_map(|(_, entry)| entry.as_ref().ok());
    let best_secs =
        planned().filter_map(|planned| planned.evaluation.total_secs).fold(f64::INFINITY, f64::min);
    let titles = [
        "scheme",
        "status",
        "in a round",
        "rounds",
        "a round",
        "total",
        "× best",
        "P2 objective",
        "solved in",
    ];
    let mut table = Table::new(&titles);
    for (scheme, entry) in entries {
        let Ok(planned) = entry else {
            table.row(vec![scheme.to_string(), "infeasible".to_owned()]);
            continue;
        };
        let evaluation = &planned.evaluation;
        let or_never = |value: Option<f64>, show: fn(f64) -> String| value.map_or("–".to_owned(), show);
        table.row(vec![
            scheme.to_string(),
            planned.plan.status().name().to_owned(),
            significant(evaluation.expected_participants, 3),
            or_never(evaluation.rounds, |rounds| significant(rounds, 4)),
            duration(evaluation.round_secs.mean.mean),
            or_never(evaluation.total_secs, duration),
            or_never(evaluation.total_secs.map(|secs| secs / best_secs), |ratio| significant(ratio, 3)),
            or_never(evaluation.objective_p2, duration),
            duration(planned.solve_secs),
        ]);
    }
    table.write(output)?;
    writeln!(
        output,
        "\n  total = rounds × mean round; P2 objective = rounds × Σ q c, the paper's upper bound of it"
    )?;
    for (scheme, entry) in entries {
        match entry {
            Err(error) => writeln!(output, "  {scheme}: {error}")?,
            Ok(planned) => {
                for warning in &planned.warnings {
                    writeln!(output, "  {scheme}: {warning}")?;
                }
            }
        }
    }
    Ok(())
}
