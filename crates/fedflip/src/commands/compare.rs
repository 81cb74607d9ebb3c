//! `fedflip compare`: the paper's Table I.

use std::io::Write;

use fedflip_plan::Scheme;
use fedflip_record::atomic;
use fedflip_sim::with_crew;
use serde::Serialize;

use super::data::data_dir;
use super::print_json;
use crate::args::CompareArgs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Table, duration, percent, significant};
use crate::scenario::Scenario;
use crate::training::comparison::{Comparison, Entry, Spread, best_hours};
use crate::training::follow::Followers;
use crate::training::pilots::Pilots;
use crate::training::setup::Setup;
use crate::training::{overrides, threads, watch};

#[derive(Serialize)]
struct ComparisonJson {
    task: &'static str,
    target_accuracy: f64,
    pilot: PilotJson,
    schemes: Vec<SchemeJson>,
}

#[derive(Clone, Copy, Serialize)]
struct PilotJson {
    alpha: f64,
    beta: f64,
    /// None without pilots.
    hours: Option<f64>,
}

#[derive(Serialize)]
struct SchemeJson {
    scheme: String,
    /// None where there is no plan.
    hours: Option<SpreadJson>,
    hours_with_pilot: Option<f64>,
    rounds: Option<f64>,
    mean_participants: Option<f64>,
    ratio_to_best: Option<f64>,
    /// Seeds that reached the target.
    reached: usize,
    seeds: u64,
    /// Some seed did not reach it: it takes longer than this.
    lower_bound: bool,
    /// Seeds whose model left the numbers; there are no hours then.
    diverged: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct SpreadJson {
    mean: f64,
    /// Over the seeds; 0 with a single one.
    std: f64,
}

pub(super) fn run(args: &CompareArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let mut schemes: Vec<Scheme> = Vec::new();
    for name in &args.schemes {
        let scheme = name.trim().parse()?;
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    let overrides = overrides(&args.training, None);
    let scenario = match &args.scenario {
        Some(path) => Scenario::read(path, &overrides)?,
        None => Scenario::embedded(&overrides)?,
    };
    watch::catch_interrupts(args.training.quiet);
    let mut followers = Followers::of(&args.training)?;
    let setup = Setup::new(&scenario, &data_dir(args.training.data_dir.as_ref())?)?;
    let (threads, resume) = (threads(&args.training), args.training.resume);
    let found = with_crew(&setup.learner, threads, |crew| {
        let mut pilot = PilotJson {
            alpha: scenario.plan.constants.alpha(),
            beta: scenario.plan.constants.beta(),
            hours: None,
        };
        let mut constants = scenario.plan.constants;
        // Baselines need none.
        if !args.no_pilot && !schemes.iter().all(|scheme| scheme.is_baseline()) {
            let out = args.training.out.as_ref().map(|out| out.join("pilots"));
            let pilots = Pilots { setup: &setup, scenario: &scenario, out: out.as_deref(), resume, threads };
            let Some(piloted) = pilots.run(crew, &mut followers)? else { return Ok(None) };
            let hours = Some(piloted.hours());
            constants = piloted.fit?.constants;
            pilot = PilotJson { alpha: constants.alpha(), beta: constants.beta(), hours };
        }
        let out = args.training.out.as_ref().map(|out| out.join("runs"));
        let comparison = Comparison {
            setup: &setup,
            scenario: &scenario,
            constants,
            schemes: &schemes,
            seeds: args.seeds,
            give_up: args.give_up,
            out: out.as_deref(),
            resume,
            threads,
        };
        let entries = comparison.run(crew, &mut followers)?;
        Ok::<_, CliError>(entries.map(|entries| (pilot, entries)))
    })?;
    let Some((pilot, entries)) = found else {
        super::stopped(args.training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    let json = to_json(&scenario, pilot, &entries, args.seeds);
    if let Some(out) = &args.training.out {
        let mut bytes = serde_json::to_vec_pretty(&json).map_err(std::io::Error::from)?;
        bytes.push(b'\n');
        atomic::write(&out.join("compare.json"), &bytes)?;
    }
    if args.training.json {
        print_json(output, &json)?;
    } else {
        write_table(output, &json, &entries)?;
    }
    followers.linger(&args.training, output)?;
    Ok(ExitStatus::Done)
}

fn to_json(scenario: &Scenario, pilot: PilotJson, entries: &[Entry], seeds: u64) -> ComparisonJson {
    let best = best_hours(entries);
    let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
    let schemes = entries.iter().map(|entry| {
        let hours = entry.hours();
        // A baseline needs no pilots.
        let pilots = if entry.scheme.is_baseline() { 0.0 } else { pilot.hours.unwrap_or(0.0) };
        SchemeJson {
            scheme: entry.scheme.to_string(),
            hours: hours.map(|Spread { mean, std }| SpreadJson { mean, std: std.unwrap_or(0.0) }),
            hours_with_pilot: mean(hours).map(|hours| hours + pilots),
            rounds: mean(entry.rounds()),
            mean_participants: mean(entry.participants()),
            ratio_to_best: mean(hours).zip(best).map(|(hours, best)| hours / best),
            reached: entry.reached(),
            seeds,
            lower_bound: entry.is_lower_bound() && entry.diverged() == 0,
            diverged: entry.diverged(),
            error: entry.runs.as_ref().err().map(ToString::to_string),
        }
    });
    ComparisonJson {
        task: scenario.task.name(),
        target_accuracy: scenario.stop.target_accuracy,
        pilot,
        schemes: schemes.collect(),
    }
}

fn write_table(output: &mut dyn Write, json: &ComparisonJson, entries: &[Entry]) -> Result<(), CliError> {
    let PilotJson { alpha, beta, hours } = json.pilot;
    writeln!(output, "{} to {}", json.task, percent(json.target_accuracy))?;
    let cost = hours.map_or("given".to_owned(), |hours| {
        format!("from pilots that take {} of virtual time", duration(3600.0 * hours))
    });
    writeln!(output, "alpha {}, beta {}, {cost}\n", significant(alpha, 4), significant(beta, 4))?;
    let mut table =
        Table::new(&["scheme", "time", "±", "ratio", "with pilots", "rounds", "devices", "reached"]);
    for scheme in &json.schemes {
        // A lower bound is shown as one.
        let least = if scheme.lower_bound { "> " } else { "" };
        let time = |hours: Option<f64>| {
            hours.map_or("–".to_owned(), |hours| format!("{least}{}", duration(3600.0 * hours)))
        };
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| significant(value, 3));
        let SchemeJson { hours, ratio_to_best, .. } = scheme;
        table.row(vec![
            scheme.scheme.clone(),
            if scheme.diverged > 0 {
                "diverged".to_owned()
            } else {
                time(hours.as_ref().map(|hours| hours.mean))
            },
            hours
                .as_ref()
                .filter(|_| scheme.seeds > 1)
                .map_or("–".to_owned(), |hours| duration(3600.0 * hours.std)),
            ratio_to_best.map_or("–".to_owned(), |ratio| format!("{least}{}×", significant(ratio, 3))),
            time(scheme.hours_with_pilot),
            number(scheme.rounds),
            number(scheme.mean_participants),
            format!("{} of {}", scheme.reached, scheme.seeds),
        ]);
    }
    table.write(output)?;
    for entry in entries {
        if let Err(error) = &entry.runs {
            writeln!(output, "\n  {}: {error}\n    hint: {}", entry.scheme, error.hint())?;
        }
    }
    writeln!(
        output,
        "\n  time to the target and ratio to the best are without the pilots; devices and rounds are means"
    )?;
    if json.schemes.iter().any(|scheme| scheme.lower_bound) {
        writeln!(output, "  > a lower bound: some run was stopped before it reached the target")?;
    }
    Ok(())
}
