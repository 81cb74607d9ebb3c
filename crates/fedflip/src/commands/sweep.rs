//! `fedflip sweep`: a comparison at every value of a key, such as the paper's Fig. 5.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use fedflip_plan::Scheme;
use fedflip_report::standing::SpeedUp;
use serde::Serialize;

use super::print_json;
use super::scheme_cells::{self, Curves};
use crate::args::SweepArgs;
use crate::costs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table};
use crate::training::{self, overrides, warn_of_idle_keys};
use fedflip_run::comparison::Entry;
use fedflip_run::retime::CLOCK_KEYS;
use fedflip_run::reuse::Trainings;
use fedflip_run::study::{Study, write_json};
use fedflip_run::verdict::{ComparisonJson, SchemeJson};
use fedflip_run::{RunError, Session};
use fedflip_scenario::{Axis, Point, Scenario, Source, Value, points};

/// Speed-ups are over every device in every round.
const YARDSTICK: Scheme = Scheme::Full;

#[derive(Serialize)]
struct SweepJson<'a> {
    task: &'a str,
    over: Vec<AxisJson<'a>>,
    points: Vec<&'a PointJson>,
}

#[derive(Serialize)]
struct AxisJson<'a> {
    key: String,
    values: Vec<&'a Value>,
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

/// All points, and the scenario at each.
struct Sweep {
    base: Scenario,
    axes: Vec<Axis>,
    points: Vec<Point>,
    scenarios: Vec<Scenario>,
}

/// What was found at a point.
struct Found<'a> {
    point: &'a Point,
    json: PointJson,
    entries: Vec<Entry>,
}

pub(super) fn run(args: &SweepArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let training = &args.comparison.training;
    let study = args.comparison.study()?;
    let sweep = Sweep::read(args, &study)?;
    warn_of_idle_keys(&training.set, &study.schemes, &sweep.scenarios);
    let mut session = training::session(training)?;
    // What does not depend on the clock is trained once.
    let has_clock_axis = sweep.axes.iter().any(|axis| CLOCK_KEYS.contains(&axis.path().as_str()));
    session.trainings = has_clock_axis.then(Trainings::default);
    let Some(found) = sweep.run(&study, training.out.as_deref(), &mut session)? else {
        super::stopped(training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    let over = sweep.axes.iter().map(|axis| AxisJson { key: axis.path(), values: axis.values().collect() });
    let json = SweepJson {
        task: sweep.base.task.name(),
        over: over.collect(),
        points: found.iter().map(|found| &found.json).collect(),
    };
    let retimed = session.trainings.as_ref().map_or(0, Trainings::reused);
    if let Some(shard) = args.comparison.shard {
        super::shard_done(shard);
    }
    if let Some(out) = training.out.as_ref().filter(|_| args.comparison.shard.is_none()) {
        write_json(&out.join("sweep.json"), &json)?;
    }
    if training.json {
        print_json(output, &json)?;
    } else {
        sweep.write_table(output, &found)?;
        if retimed > 0 {
            let runs = if retimed == 1 { "run was" } else { "runs were" };
            writeln!(
                output,
                "  {retimed} {runs} retimed instead of trained, because only the clock differs from another run"
            )?;
        }
    }
    training::finish(session, training, output)?;
    Ok(ExitStatus::Done)
}

impl Sweep {
    /// All points before anything runs: a mistake in the last must not cost the hours of the others.
    fn read(args: &SweepArgs, study: &Study) -> Result<Self, CliError> {
        let training = &args.comparison.training;
        let source = args.scenario.as_deref().map_or_else(|| Ok(Source::embedded()), Source::read)?;
        let set = overrides(&training.set, training.seed);
        let base = source.scenario(&set)?;
        let axes = args.over.iter().map(|text| Axis::parse(text, &base)).collect::<Result<Vec<_>, _>>()?;
        let points = points(&axes)?;
        let scenarios = points.iter().map(|point| source.at(&set, point)).collect::<Result<Vec<_>, _>>()?;
        scenarios.iter().try_for_each(|scenario| study.check(scenario))?;
        axes.iter().try_for_each(|axis| check_matters(axis, study))?;
        if points.len() > 1 && scenarios.windows(2).all(|two| two[0] == two[1]) {
            return Err(CliError::usage(
                "--over: makes no difference to any of the schemes, so all points would be the same",
                "some keys only matter beside others, such as server.step beside server.optimiser",
            ));
        }
        Ok(Self { base, axes, points, scenarios })
    }

    /// The comparison at each point; none if it was interrupted. It is an error if there is no comparison anywhere.
    fn run(
        &self,
        study: &Study,
        out: Option<&Path>,
        session: &mut Session<'_>,
    ) -> Result<Option<Vec<Found<'_>>>, RunError> {
        let (mut found, mut failed, mut study) = (Vec::new(), None, study.clone());
        for (number, (point, scenario)) in self.points.iter().zip(&self.scenarios).enumerate() {
            let folder = point.name();
            let prefix = format!("{folder} ({} of {}): ", number + 1, self.points.len());
            let out = out.map(|out| out.join(&folder));
            let at = point.settings().map(|(key, value)| (key.to_owned(), value.clone())).collect();
            let mut json =
                PointJson { at, folder, comparison: None, speedups_over_full: Vec::new(), error: None };
            let mut entries = Vec::new();
            match study.run(scenario, out.as_deref(), &prefix, session) {
                Ok(Some(studied)) => {
                    json.speedups_over_full = speedups(&studied.entries);
                    json.comparison = Some(studied.json);
                    entries = studied.entries;
                }
                Ok(None) => return Ok(None),
                // Pilots that say nothing at one point say nothing of the others.
                Err(error @ RunError::Plan(_)) => {
                    json.error = Some(error.to_string());
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
            study.part = study.part.map(|part| part.after(study.items(scenario)));
            found.push(Found { point, json, entries });
        }
        match failed {
            Some(error) if found.iter().all(|found| found.json.comparison.is_none()) => Err(error),
            _ => Ok(Some(found)),
        }
    }

    fn write_table(&self, output: &mut dyn Write, found: &[Found<'_>]) -> Result<(), CliError> {
        let target = &self.base.stop.target;
        writeln!(
            output,
            "{} to {}\n",
            self.base.task.name(),
            super::compare::target(self.base.task.name(), target)
        )?;
        let has_yardstick = found.iter().any(|found| !found.json.speedups_over_full.is_empty());
        let (versus, of) = match has_yardstick {
            true => ("speed-up", format!("speed-up is over {YARDSTICK}")),
            false => ("ratio", "ratio is to the reference at its point".to_owned()),
        };
        let keys: Vec<String> = self.axes.iter().map(Axis::path).collect();
        let mut titles: Vec<&str> = keys.iter().map(String::as_str).collect();
        titles.extend(["scheme", "time", "±", versus, "reached", &target.metric]);
        let mut table = Table::new(&titles).with_words(keys.len() + 1);
        let curves = Curves::of(&target.metric, found.iter().flat_map(|found| &found.entries));
        for found in found {
            for (place, (scheme, entry)) in found.schemes().zip(&found.entries).enumerate() {
                let versus = found.json.speedups_over_full.get(place).map_or_else(
                    || scheme_cells::ratio_to_reference(scheme),
                    |of| scheme_cells::speed_up(of.speedup.as_ref()),
                );
                let cells = [
                    Cell::text(&scheme.scheme),
                    scheme_cells::time_to_target(scheme),
                    scheme_cells::spread(scheme),
                    versus,
                    scheme_cells::reached(scheme),
                    curves.cell(entry),
                ];
                table.row(found.point.texts().map(Cell::text).chain(cells).collect::<Vec<_>>());
            }
        }
        table.write(output)?;
        for Found { point, json, entries } in found {
            if let Some(error) = &json.error {
                writeln!(output, "\n  {}: {error}", point.name())?;
            }
            for entry in entries {
                if let Err(error) = &entry.runs {
                    writeln!(output, "\n  {}, {}: {error}", point.name(), entry.scheme)?;
                }
            }
        }
        writeln!(
            output,
            "\n  time to the target is without the pilots; {of};\n  the curve is that of the first seed over its own time"
        )?;
        writeln!(
            output,
            "  {}, where the sweep changes nothing of it",
            costs::note(&self.base.round_costs())
        )?;
        if found.iter().flat_map(Found::schemes).any(|scheme| scheme.lower_bound) {
            writeln!(output, "  > at least, < at most: some run was stopped before it reached the target")?;
        }
        Ok(())
    }
}

impl Found<'_> {
    fn schemes(&self) -> impl Iterator<Item = &SchemeJson> {
        self.json.comparison.iter().flat_map(|comparison| &comparison.schemes)
    }
}

/// What a comparison chooses itself makes no sweep: all points would be the same.
fn check_matters(axis: &Axis, study: &Study) -> Result<(), CliError> {
    match axis.path().as_str() {
        "seed" => Err(CliError::usage(
            "--over: seed makes no point of a sweep, because every point runs several seeds",
            "say how many with --seeds, and the first with --seed",
        )),
        "plan.scheme" => Err(CliError::usage(
            "--over: plan.scheme makes no difference, because every point compares schemes",
            "name the schemes in --schemes",
        )),
        "plan.alpha" | "plan.beta" if study.has_pilots() => Err(CliError::usage(
            "--over: plan.alpha and plan.beta make no difference, because pilots measure them",
            "add --no-pilot to plan with the values that are given",
        )),
        "plan.variance" if !study.schemes.iter().any(Scheme::needs_variance) => Err(CliError::usage(
            "--over: plan.variance makes no difference, because auto alone has it",
            "name auto in --schemes",
        )),
        _ => Ok(()),
    }
}

fn speedups(entries: &[Entry]) -> Vec<SchemeSpeedUp> {
    let Some(full) = entries.iter().find(|entry| entry.scheme == YARDSTICK) else { return Vec::new() };
    let full = full.standing();
    let speedup = |entry: &Entry| SchemeSpeedUp {
        scheme: entry.scheme.to_string(),
        speedup: entry.standing().speed_up_over(&full),
    };
    entries.iter().map(speedup).collect()
}
