//! `fedflip sweep`: a comparison at every value of a key, such as the paper's Fig. 5.

use std::collections::BTreeMap;
use std::io::Write;

use fedflip_plan::Scheme;
use fedflip_report::standing::SpeedUp;
use serde::Serialize;

use super::print_json;
use super::scheme_cells::{self, Curves};
use crate::args::SweepArgs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table};
use crate::training::{self, overrides, warn_of_idle_keys};
use fedflip_run::RunError;
use fedflip_run::comparison::Entry;
use fedflip_run::study::{Studied, Study, write_json};
use fedflip_run::verdict::ComparisonJson;
use fedflip_scenario::{Axis, Point, Scenario, Source, Value, points};

#[derive(Serialize)]
struct SweepJson {
    task: String,
    over: Vec<AxisJson>,
    points: Vec<PointJson>,
}

#[derive(Serialize)]
struct AxisJson {
    key: String,
    values: Vec<Value>,
}

#[derive(Serialize)]
struct PointJson {
    /// Key and value of every axis.
    at: BTreeMap<String, Value>,
    /// Below --out.
    folder: String,
    /// What `fedflip compare` says there; none if there was no comparison.
    comparison: Option<ComparisonJson>,
    /// None of these where `full` was not among the schemes.
    speedups_over_full: Vec<SchemeSpeedUp>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How many times as fast as everybody taking part in every round.
#[derive(Serialize)]
struct SchemeSpeedUp {
    scheme: String,
    /// None where either has no time, or both only lower bounds.
    speedup: Option<SpeedUp>,
}

pub(super) fn run(args: &SweepArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let training = &args.comparison.training;
    let study = args.comparison.study()?;
    let source = args.scenario.as_deref().map_or_else(|| Ok(Source::embedded()), Source::read)?;
    let set = overrides(&training.set, training.seed, None);
    let base = source.scenario(&set)?;
    let axes = args.over.iter().map(|text| Axis::parse(text, &base)).collect::<Result<Vec<_>, _>>()?;
    let points = points(&axes)?;
    // All of them before anything runs: a mistake in the last must not cost the hours of the others.
    let scenarios = points.iter().map(|point| source.at(&set, point)).collect::<Result<Vec<_>, _>>()?;
    scenarios.iter().try_for_each(|scenario| study.check(scenario))?;
    for axis in &axes {
        check_matters(axis, &study)?;
    }
    if points.len() > 1 && scenarios.windows(2).all(|two| two[0] == two[1]) {
        return Err(CliError::Usage {
            problem: "--over: makes no difference to any of the schemes, so all points would be the same",
            hint: "some keys only matter beside others, such as server.step beside server.optimiser",
        });
    }
    warn_of_idle_keys(&training.set, &study.schemes, &scenarios);
    let mut session = training::session(training)?;
    let mut done = Vec::new();
    for (number, (point, scenario)) in points.iter().zip(&scenarios).enumerate() {
        let name = point.name();
        let out = training.out.as_ref().map(|out| out.join(&name));
        let prefix = format!("{name} ({} of {}): ", number + 1, points.len());
        done.push(match study.run(scenario, out.as_deref(), &prefix, &mut session) {
            Ok(Some(studied)) => Ok(studied),
            Ok(None) => {
                super::stopped(training.out.is_some());
                return Ok(ExitStatus::Stopped);
            }
            // Pilots that say nothing at one point say nothing of the others.
            Err(error @ RunError::Plan(_)) => Err(error),
            Err(error) => return Err(error.into()),
        });
    }
    if done.iter().all(Result::is_err)
        && let Some(Err(error)) = done.pop()
    {
        return Err(error.into());
    }
    let (mut entries, mut jsons) = (Vec::new(), Vec::new());
    for (point, studied) in points.iter().zip(done) {
        let (json, own) = point_json(point, studied);
        jsons.push(json);
        entries.push(own);
    }
    let over =
        axes.iter().map(|axis| AxisJson { key: axis.path(), values: axis.values().cloned().collect() });
    let json = SweepJson { task: base.task.name().to_owned(), over: over.collect(), points: jsons };
    if let Some(out) = &training.out {
        write_json(&out.join("sweep.json"), &json)?;
    }
    if training.json {
        print_json(output, &json)?;
    } else {
        write_table(output, &base, &points, &json, &entries)?;
    }
    training::finish(session, training, output)?;
    Ok(ExitStatus::Done)
}

/// What a comparison chooses itself makes no sweep: all points would be the same.
fn check_matters(axis: &Axis, study: &Study) -> Result<(), CliError> {
    match axis.path().as_str() {
        "seed" => Err(CliError::Usage {
            problem: "--over: seed makes no point of a sweep, because every point runs several seeds",
            hint: "say how many with --seeds, and the first with --seed",
        }),
        "plan.scheme" => Err(CliError::Usage {
            problem: "--over: plan.scheme makes no difference, because every point compares schemes",
            hint: "name the schemes in --schemes",
        }),
        "plan.alpha" | "plan.beta" if study.has_pilots() => Err(CliError::Usage {
            problem: "--over: plan.alpha and plan.beta make no difference, because pilots measure them",
            hint: "add --no-pilot to plan with the values that are given",
        }),
        "plan.variance" if !study.has(Scheme::Auto) => Err(CliError::Usage {
            problem: "--over: plan.variance makes no difference, because auto alone has it",
            hint: "name auto in --schemes",
        }),
        _ => Ok(()),
    }
}

fn point_json(point: &Point, studied: Result<Studied, RunError>) -> (PointJson, Vec<Entry>) {
    let at = point.settings().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    let folder = point.name();
    match studied {
        Ok(Studied { json, entries }) => {
            let speedups_over_full = speedups(&entries);
            (PointJson { at, folder, comparison: Some(json), speedups_over_full, error: None }, entries)
        }
        Err(error) => {
            let error = Some(error.to_string());
            (PointJson { at, folder, comparison: None, speedups_over_full: Vec::new(), error }, Vec::new())
        }
    }
}

fn speedups(entries: &[Entry]) -> Vec<SchemeSpeedUp> {
    let Some(full) = entries.iter().find(|entry| entry.scheme == Scheme::Full) else { return Vec::new() };
    let full = full.standing();
    let speedup = |entry: &Entry| SchemeSpeedUp {
        scheme: entry.scheme.to_string(),
        speedup: entry.standing().speed_up_over(&full),
    };
    entries.iter().map(speedup).collect()
}

fn write_table(
    output: &mut dyn Write,
    base: &Scenario,
    points: &[Point],
    json: &SweepJson,
    entries: &[Vec<Entry>],
) -> Result<(), CliError> {
    writeln!(output, "{} to {}\n", json.task, super::compare::target(&base.stop.target))?;
    let has_full = json.points.iter().any(|point| !point.speedups_over_full.is_empty());
    let mut titles: Vec<&str> = json.over.iter().map(|axis| axis.key.as_str()).collect();
    let versus = if has_full { "speed-up" } else { "ratio" };
    titles.extend(["scheme", "time", "±", versus, "reached", &base.stop.target.metric]);
    let mut table = Table::new(&titles).with_words(json.over.len() + 1);
    let curves = Curves::of(&base.stop.target.metric, entries.iter().flatten());
    for ((point, PointJson { comparison, speedups_over_full, .. }), entries) in
        points.iter().zip(&json.points).zip(entries)
    {
        let schemes = comparison.iter().flat_map(|comparison| &comparison.schemes);
        for (place, (scheme, entry)) in schemes.zip(entries).enumerate() {
            let mut row: Vec<Cell> = point.texts().map(Cell::text).collect();
            row.extend([
                Cell::text(&scheme.scheme),
                scheme_cells::time_to_target(scheme),
                scheme_cells::spread(scheme),
            ]);
            row.push(speedups_over_full.get(place).map_or_else(
                || scheme_cells::ratio_to_reference(scheme),
                |of| scheme_cells::speed_up(of.speedup.as_ref()),
            ));
            row.extend([scheme_cells::reached(scheme), curves.cell(entry)]);
            table.row(row);
        }
    }
    table.write(output)?;
    for (point, PointJson { error, .. }) in points.iter().zip(&json.points) {
        if let Some(error) = error {
            writeln!(output, "\n  {}: {error}", point.name())?;
        }
    }
    for (point, entry) in
        points.iter().zip(entries).flat_map(|(point, own)| own.iter().map(move |e| (point, e)))
    {
        if let Err(error) = &entry.runs {
            writeln!(output, "\n  {}, {}: {error}", point.name(), entry.scheme)?;
        }
    }
    let versus = if has_full { "speed-up is over full" } else { "ratio is to the reference at its point" };
    writeln!(
        output,
        "\n  time to the target is without the pilots; {versus};\n  the curve is that of the first seed over its own time"
    )?;
    let schemes = json.points.iter().filter_map(|point| point.comparison.as_ref());
    if schemes.flat_map(|comparison| &comparison.schemes).any(|scheme| scheme.lower_bound) {
        writeln!(output, "  > at least, < at most: some run was stopped before it reached the target")?;
    }
    Ok(())
}
