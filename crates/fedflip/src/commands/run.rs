//! `fedflip run`: one run to its end.

use std::io::Write;
use std::path::Path;

use fedflip_learn::metrics::{self, Display};
use fedflip_learn::with_crew;
use fedflip_plan::Scheme;
use fedflip_record::{EndReason, Fold, Summary, Target};
use fedflip_run::RunError;
use serde::Serialize;

use super::print_json;
use crate::args::RunArgs;
use crate::error::{CliError, ExitStatus};
use crate::progress::warn;
use crate::render::{count, duration, percent, significant};
use crate::sparkline::{range_of, sparkline};
use crate::training::{self, overrides, warn_of_idle_keys};
use fedflip_run::pilots::Pilots;
use fedflip_run::{Finished, Planned, Setup, Single, warnings};
use fedflip_scenario::Scenario;

#[derive(Serialize)]
struct RunJson<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// `stopped` if it can go on.
    status: &'static str,
    detail: Option<&'a str>,
    /// Rounds from one quiet round to the next, if any round is quiet.
    quiet_every: Option<u64>,
    /// The rule that limits what a single update can do, and makes the sum biased, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    biased_aggregation: Option<&'static str>,
    out: Option<String>,
}

pub(super) fn run(args: &RunArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    // Before the scenario is read, so that the refusal names the flag and not the key.
    args.scheme.as_deref().map(str::parse::<Scheme>).transpose()?;
    let overrides = overrides(&args.training.set, args.training.seed, args.scheme.as_deref());
    let scenario = Scenario::read(&args.scenario, &overrides)?;
    warn_of_idle_keys(&args.training.set, &[scenario.plan.scheme], std::slice::from_ref(&scenario));
    let mut session = training::session(&args.training)?;
    let setup = Setup::new(&scenario, &mut session)?;
    let planned = setup.plan(&scenario, Some(scenario.plan.constants))?;
    warnings::of_plan(&planned, &scenario, &setup.fleet).iter().for_each(|text| warn(text));
    let done = with_crew(&*setup.learner, session.threads, |crew| -> Result<_, RunError> {
        let mut kept = None;
        if scenario.pilot.keep && scenario.plan.scheme.needs_constants() {
            let (setup, scenario) = (&setup, &scenario);
            let out = args.training.out.as_ref().map(|out| out.join("pilots"));
            let pilots = Pilots { setup, scenario, out: out.as_deref(), prefix: "", kept: 1 };
            let Some(pair) = pilots.pair(0, crew, &mut session)? else { return Ok(None) };
            pair.short_of(scenario.pilot.loss).iter().for_each(|text| warn(text));
            kept = Some(pair.better);
        }
        let single = Single {
            setup: &setup,
            scenario: &scenario,
            planned: &planned,
            warm_start: kept,
            pilot: false,
            out: args.training.out.as_deref(),
            title: &format!("{} {}", scenario.task.name(), scenario.plan.scheme),
        };
        single.run(crew, &mut session).map(Some)
    })?;
    let Some(done) = done else {
        super::stopped(args.training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    if args.training.json {
        let out = args.training.out.as_ref().map(|out| out.display().to_string());
        let (summary, detail) = (&done.fold.summary, &done.detail);
        print_json(
            output,
            &RunJson {
                summary,
                status: status(summary.end),
                detail: detail.as_deref(),
                quiet_every: planned.schedule.quiet_every(),
                biased_aggregation: scenario.round.aggregation.robust_name(),
                out,
            },
        )?;
    } else {
        write_text(output, &scenario, (&setup, &planned), &done, args.training.out.as_deref())?;
    }
    training::finish(session, &args.training, output)?;
    Ok(exit_status(&done.fold.summary))
}

fn exit_status(summary: &Summary) -> ExitStatus {
    match summary.end {
        None => ExitStatus::Stopped,
        Some(EndReason::Diverged) => ExitStatus::Diverged,
        Some(_) => ExitStatus::Done,
    }
}

/// In a word, for scripts.
pub(super) fn status(end: Option<EndReason>) -> &'static str {
    match end {
        None => "stopped",
        Some(EndReason::Target) => "reached",
        Some(EndReason::RoundsMax | EndReason::VirtualTimeMax) => "cap",
        Some(EndReason::Diverged) => "diverged",
    }
}

fn write_text(
    output: &mut dyn Write,
    scenario: &Scenario,
    (setup, planned): (&Setup, &Planned),
    done: &Finished,
    out: Option<&Path>,
) -> Result<(), CliError> {
    let Finished { fold: Fold { summary, curve }, detail, had_ended, .. } = done;
    let target =
        scenario.engine_stop().target.map_or_else(|| "its target".to_owned(), |target| in_words(&target));
    let over = if *had_ended { "was over already: " } else { "" };
    let how = match summary.end {
        Some(EndReason::Target) => format!("{over}reached {target}"),
        Some(reason) if reason.is_cap() => format!("{over}{}, short of {target}", reason.in_words(false)),
        Some(reason) => format!("{over}{}", reason.in_words(false)),
        None if out.is_none() => "stopped, and nothing of it is kept: there was no --out".to_owned(),
        None => "stopped; it can go on with --resume".to_owned(),
    };
    writeln!(output, "{} under {} {how}", scenario.task.name(), summary.scheme)?;
    if let Some(detail) = detail {
        writeln!(output, "  {detail}")?;
    }
    let rounds = count(summary.rounds as usize);
    let empty = if summary.empty_rounds > 0 {
        format!(", {} empty", count(summary.empty_rounds as usize))
    } else {
        String::new()
    };
    let biased = if summary.biased_rounds > 0 {
        format!(", {} biased by devices that did not report", count(summary.biased_rounds as usize))
    } else {
        String::new()
    };
    writeln!(output, "  virtual time      {}", duration(3600.0 * summary.hours))?;
    writeln!(output, "  rounds            {rounds}{empty}{biased}")?;
    writeln!(output, "  participants      {} a round", significant(summary.mean_participants, 3))?;
    if let (Some(quiet), Some(every)) = (planned.schedule.quiet(), planned.schedule.quiet_every()) {
        let [quiet, usual] =
            [quiet, planned.schedule.usual()].map(|plan| significant(plan.q().iter().sum(), 3));
        let every = count(every as usize);
        writeln!(
            output,
            "  quiet rounds      one in {every}: planned for {quiet} devices, the others for {usual}"
        )?;
    }
    if let Some(rule) = scenario.round.aggregation.robust_name() {
        writeln!(output, "  aggregation       {rule} (biased)")?;
    }
    let mut when = match summary.evaluated_round {
        Some(round) if round < summary.rounds => format!(" after round {}", count(round as usize)),
        _ => String::new(),
    };
    for (name, last) in summary.metrics.iter() {
        let way = rise(&curve.of(name), last, |value| shown(name, value));
        writeln!(output, "  {name:<17} {way}{}", std::mem::take(&mut when))?;
    }
    let sharing = setup.sharing;
    writeln!(
        output,
        "  data              {} samples, {} to {} a device",
        count(sharing.samples),
        count(sharing.fewest),
        count(sharing.most)
    )?;
    if let Some(minimum) = sharing.minimum {
        writeln!(output, "                    {minimum}")?;
    }
    if let Some(out) = out {
        writeln!(output, "  kept in           {}", out.display())?;
    }
    Ok(())
}

/// A value of a metric: a share in percent, or a number.
fn shown(metric: &str, value: f64) -> String {
    match metrics::metric(metric).map(|metric| metric.info.display) {
        Some(Display::Share) => percent(value),
        Some(Display::Number) | None => significant(value, 3),
    }
}

/// Such as `95 % accuracy` or `0.5 loss`.
fn in_words(target: &Target) -> String {
    format!("{} {}", shown(&target.metric, target.at), target.metric)
}

/// Where a value came from, its way over virtual time, and where it is: `10 % ▁▂▄▆▇▇█ 95 %`.
fn rise(points: &[(f64, f64)], last: f64, shown: impl Fn(f64) -> String) -> String {
    const CURVE_CHARS: usize = 24;
    let curve = sparkline(points, CURVE_CHARS, range_of(points.iter().map(|&(_, value)| value)));
    match points.first() {
        Some(&(_, first)) if !curve.is_empty() => format!("{} {curve} {}", shown(first), shown(last)),
        _ => shown(last),
    }
}
