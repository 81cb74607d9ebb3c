//! `fedflip sweep`: a comparison at every value of a key, such as the paper's Fig. 5.

use std::io::Write;

use super::print_json;
use super::scheme_cells::{self, Curves};
use crate::args::SweepArgs;
use crate::costs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table};
use crate::training::{self, overrides, warn_of_idle_keys};
use fedflip_run::reuse::Trainings;
use fedflip_run::study::Study;
use fedflip_run::sweep::{Found, IdleAxis, Sweep, YARDSTICK};
use fedflip_run::verdict::SchemeJson;
use fedflip_run::{RunError, Setup};
use fedflip_scenario::{Axis, Scenario, Source};

pub(super) fn run(args: &SweepArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let training = &args.comparison.training;
    let study = args.comparison.study()?;
    let sweep = read(args, &study)?;
    warn_of_idle_keys(&training.set, &study.schemes, sweep.scenarios());
    let mut session = training::session(training)?;
    let out = training.out.as_deref();
    let found =
        sweep.run(&study, out, &mut session, &mut |_, scenario, session| Setup::new(scenario, session))?;
    let Some(found) = found else {
        super::stopped(training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    if let Some(shard) = args.comparison.shard {
        super::shard_done(shard);
    }
    if training.json {
        print_json(output, &sweep.json(&found))?;
    } else {
        write_table(output, &sweep, &found)?;
        let retimed = session.trainings.as_ref().map_or(0, Trainings::reused);
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

fn read(args: &SweepArgs, study: &Study) -> Result<Sweep, CliError> {
    let training = &args.comparison.training;
    let source = args.scenario.as_deref().map_or_else(|| Ok(Source::embedded()), Source::read)?;
    let set = overrides(&training.set, training.seed);
    let axes = |base: &Scenario| args.over.iter().map(|text| Axis::parse(text, base)).collect();
    let sweep = Sweep::new((&source, &set), axes, study)?;
    // Also one value: whoever types it expects it to make a difference.
    sweep.axes().iter().try_for_each(|axis| IdleAxis::check(axis, study)).map_err(RunError::from)?;
    Ok(sweep)
}

fn write_table(output: &mut dyn Write, sweep: &Sweep, found: &[Found<'_>]) -> Result<(), CliError> {
    let target = &sweep.base().stop.target;
    let task = sweep.base().task.name();
    // Where points have targets of their own, the rows name them.
    match sweep.axes().iter().any(|axis| axis.path().starts_with("stop.")) {
        true => writeln!(output, "{task}\n")?,
        false => writeln!(output, "{task} to {}\n", super::compare::target(task, target))?,
    }
    let has_yardstick = found.iter().any(|found| !found.json.speedups_over_full.is_empty());
    let (versus, of) = match has_yardstick {
        true => ("speed-up", format!("speed-up is over {YARDSTICK}")),
        false => ("ratio", "ratio is to the reference at its point".to_owned()),
    };
    let keys: Vec<String> = sweep.axes().iter().map(Axis::path).collect();
    let mut titles: Vec<&str> = keys.iter().map(String::as_str).collect();
    titles.extend(["scheme", "time", "±", versus, "reached", &target.metric]);
    let mut table = Table::new(&titles).with_words(keys.len() + 1);
    let curves = Curves::of(&target.metric, found.iter().flat_map(|found| &found.entries));
    for found in found {
        for (place, (scheme, entry)) in schemes(found).zip(&found.entries).enumerate() {
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
    writeln!(output, "  {}, unless the sweep changes these costs", costs::note(&sweep.base().round_costs()))?;
    if found.iter().flat_map(schemes).any(|scheme| scheme.lower_bound) {
        writeln!(output, "  > at least, < at most: some run was stopped before it reached the target")?;
    }
    Ok(())
}

fn schemes<'a>(found: &'a Found<'_>) -> impl Iterator<Item = &'a SchemeJson> {
    found.json.comparison.iter().flat_map(|comparison| &comparison.schemes)
}
