//! `fedflip compare`: the paper's Table I, under equal settings.

use std::io::Write;

use fedflip_fleet::Display;
use fedflip_learn::task::Task;
use fedflip_record::Target;
use fedflip_run::comparison::Entry;
use fedflip_run::folders::{PRESETS, check_presets};
use fedflip_run::study::{Studied, Study, write_json};
use fedflip_run::verdict::{ComparisonJson, GainJson, PilotJson, gains};
use fedflip_scenario::{Preset, Scenario, Source};
use serde::Serialize;

use super::print_json;
use super::scheme_cells::{self, Curves};
use crate::args::CompareArgs;
use crate::costs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table, display_of, duration, percent, significant};
use crate::training::{self, overrides, warn_of_idle_keys};

/// Several presets side by side.
#[derive(Serialize)]
struct PresetsJson<'a> {
    presets: Vec<PresetJson<'a>>,
    /// What sampling gives, and what the rest gives: the last preset against the first.
    gains: &'a [GainJson],
}

#[derive(Serialize)]
struct PresetJson<'a> {
    preset: &'static str,
    #[serde(flatten)]
    comparison: &'a ComparisonJson,
}

pub(super) fn run(args: &CompareArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let training = &args.comparison.training;
    let mut study = args.comparison.study()?;
    let scenarios = scenarios(args, &study)?;
    let presets = &args.presets;
    warn_of_idle_keys(&training.set, &study.schemes, &scenarios);
    if let Some(out) = training.out.as_ref().filter(|_| !presets.is_empty()) {
        let names: Vec<String> = presets.iter().map(|preset| preset.name().to_owned()).collect();
        check_presets(out, &names)?;
        for (scenario, name) in scenarios.iter().zip(&names) {
            study.check_runs(scenario, &out.join(name), training.resume)?;
        }
    }
    let mut session = training::session(training)?;
    let mut done: Vec<Studied> = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let name = presets.get(place).map(|preset| preset.name());
        let out = training.out.as_ref().map(|out| name.map_or(out.clone(), |name| out.join(name)));
        let prefix = name.map_or(String::new(), |name| format!("{name}: "));
        let Some(studied) = study.run(scenario, out.as_deref(), &prefix, &mut session)? else {
            super::stopped(training.out.is_some());
            return Ok(ExitStatus::Stopped);
        };
        study.part = study.part.map(|part| part.after(study.items(scenario)));
        done.push(studied);
    }
    if let Some(shard) = args.comparison.shard {
        super::shard_done(shard);
    }
    match done.as_slice() {
        [one] if presets.is_empty() => match training.json {
            true => print_json(output, &one.json)?,
            false => write_comparison(output, one)?,
        },
        _ => several(args, &study, (presets, &done), output)?,
    }
    training::finish(session, training, output)?;
    Ok(ExitStatus::Done)
}

/// The scenario under each preset: all of them before anything runs, so that a mistake in the last costs the others no hours.
fn scenarios(args: &CompareArgs, study: &Study) -> Result<Vec<Scenario>, CliError> {
    let training = &args.comparison.training;
    let source = args.scenario.as_deref().map_or_else(|| Ok(Source::embedded()), Source::read)?;
    let set = overrides(&training.set, training.seed);
    let scenario = |preset: Option<Preset>| -> Result<Scenario, CliError> {
        let mut set = set.clone();
        set.extend(preset.map(|preset| format!("preset={}", preset.name())));
        let scenario = source.scenario(&set)?;
        study.check(&scenario)?;
        Ok(scenario)
    };
    let presets = &args.presets;
    if presets.len() == 1 || presets.first().is_some_and(|first| presets[1..].contains(first)) {
        return Err(CliError::usage(
            "--presets takes two different presets to split the gain between",
            "write --presets paper,tuned, or --preset for one",
        ));
    }
    match presets.is_empty() {
        true => Ok(vec![scenario(args.preset)?]),
        false => presets.iter().map(|&preset| scenario(Some(preset))).collect(),
    }
}

/// Presets side by side, and what each part of the gain is due to.
fn several(
    args: &CompareArgs,
    study: &Study,
    (presets, done): (&[Preset], &[Studied]),
    output: &mut dyn Write,
) -> Result<(), CliError> {
    let training = &args.comparison.training;
    let (Some(first), Some(last)) = (done.first(), done.last()) else { return Ok(()) };
    let gains = gains(&first.entries, &last.entries, study);
    let named = presets.iter().zip(done);
    let json = PresetsJson {
        presets: named
            .clone()
            .map(|(preset, studied)| PresetJson { preset: preset.name(), comparison: &studied.json })
            .collect(),
        gains: &gains,
    };
    if let Some(out) = training.out.as_ref().filter(|_| args.comparison.shard.is_none()) {
        write_json(&out.join(PRESETS), &json)?;
    }
    if training.json {
        return print_json(output, &json);
    }
    for (preset, studied) in named {
        writeln!(output, "preset {}\n", preset.name())?;
        write_comparison(output, studied)?;
        writeln!(output)?;
    }
    let names = [presets.first(), presets.last()].map(|preset| preset.map_or("", |preset| preset.name()));
    write_gains(output, &gains, names, &first.json.reference)
}

fn write_gains(
    output: &mut dyn Write,
    gains: &[GainJson],
    [first, last]: [&str; 2],
    reference: &str,
) -> Result<(), CliError> {
    writeln!(output, "gain over {reference} with the preset {first}\n")?;
    let mut table = Table::new(&["scheme", "sampling", "the rest", "together"]);
    for gain in gains {
        let [sampling, rest, total] =
            [&gain.sampling, &gain.rest, &gain.total].map(|up| scheme_cells::speed_up(up.as_ref()));
        table.row([Cell::text(&gain.scheme), sampling, rest, total]);
    }
    table.write(output)?;
    writeln!(
        output,
        "\n  sampling: the scheme against {reference}, both under the preset {first}; the rest: the preset {last}\n  against \
         {first}, both with the scheme"
    )?;
    Ok(())
}

/// `95 %` for the task's first metric if that is a share, `60 % f1` for another share, `loss 0.5` for a number.
pub(super) fn target(task: &str, target: &Target) -> String {
    let first = Task::by_name(task).ok().and_then(|task| task.metrics().first());
    match display_of(&target.metric) {
        Display::Share if first.is_some_and(|first| *first == target.metric) => percent(target.at),
        Display::Share => format!("{} {}", percent(target.at), target.metric),
        Display::Number => format!("{} {}", target.metric, significant(target.at, 4)),
    }
}

fn write_comparison(output: &mut dyn Write, Studied { json, entries }: &Studied) -> Result<(), CliError> {
    let PilotJson { alpha, beta, hours, kept } = json.pilot;
    writeln!(output, "{} to {}", json.task, target(&json.task, &json.target))?;
    let cost = hours.map_or("from the scenario".to_owned(), |hours| {
        format!("from pilots, a pair of which takes {} of virtual time", duration(3600.0 * hours))
    });
    // Without a scheme that plans with them, they say nothing about the table.
    if entries.iter().any(|entry| entry.scheme.needs_constants()) {
        writeln!(output, "alpha {}, beta {}, {cost}", significant(alpha, 4), significant(beta, 4))?;
    }
    writeln!(output)?;
    let ratio = format!("ratio to {}", json.reference);
    let metric = json.target.metric.as_str();
    let is_tested = json.schemes.iter().any(|scheme| scheme.test.contains_key(metric));
    let tested = format!("test {metric}");
    let mut titles =
        vec!["scheme", "time", "±", &ratio, "with pilots", "rounds", "devices", "reached", metric];
    titles.extend(is_tested.then_some(tested.as_str()));
    let mut table = Table::new(&titles);
    let curves = Curves::of(&json.target.metric, entries.iter());
    for (scheme, entry) in json.schemes.iter().zip(entries) {
        let mut cells = vec![
            Cell::text(&scheme.scheme),
            scheme_cells::time_to_target(scheme),
            scheme_cells::spread(scheme),
            scheme_cells::ratio_to_reference(scheme),
            scheme_cells::time(scheme, scheme.hours_with_pilot),
            Cell::short(scheme.rounds),
            Cell::short(scheme.mean_participants),
            scheme_cells::reached(scheme),
            curves.cell(entry),
        ];
        cells.extend(is_tested.then(|| scheme_cells::test(scheme, metric)));
        table.row(cells);
    }
    table.write(output)?;
    for entry in entries {
        if let Err(error) = &entry.runs {
            let hint = CliError::from(error.clone()).hint().unwrap_or_default();
            writeln!(output, "\n  {}: {error}\n    hint: {hint}", entry.scheme)?;
        }
    }
    write_notes(output, kept, entries)?;
    let costs = json.costs.round_costs(json.bandwidth_mbps);
    costs.map_or(Ok(()), |costs| writeln!(output, "  {}", costs::note(&costs)))?;
    if is_tested {
        writeln!(
            output,
            "  {metric} is on validation samples, {tested} on test samples at the end, a mean over seeds"
        )?;
    }
    if json.schemes.iter().any(|scheme| scheme.lower_bound) {
        writeln!(output, "  > a lower bound: some run was stopped before it reached the target")?;
    }
    Ok(())
}

/// What the columns of the table mean.
fn write_notes(output: &mut dyn Write, kept: bool, entries: &[Entry]) -> Result<(), CliError> {
    let counted = match kept {
        true => "time and ratio include the pilots of schemes that continued from theirs",
        false => "time and ratio are without the pilots",
    };
    writeln!(
        output,
        "\n  {counted}; devices and rounds are means; ± is one standard deviation\n  over seeds; the curve is that \
         of the first seed over its own time"
    )?;
    let biased = entries.iter().filter(|entry| !entry.scheme.method().is_unbiased());
    let biased: Vec<String> = biased.map(|entry| entry.scheme.to_string()).collect();
    if !biased.is_empty() {
        writeln!(output, "  the sums of {} are biased (docs/reference/schemes.md)", biased.join(", "))?;
    }
    Ok(())
}
