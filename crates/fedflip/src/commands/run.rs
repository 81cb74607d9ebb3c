//! `fedflip run`: one run to its end.

use std::io::Write;
use std::path::Path;
use std::slice::from_ref;

use fedflip_learn::task::SharingReport;
use fedflip_record::{EndReason, Fold, Summary, Target};
use fedflip_run::RunError;
use serde::Serialize;

use super::outcome::{self, line};
use super::print_json;
use crate::args::RunArgs;
use crate::costs;
use crate::error::{CliError, ExitStatus};
use crate::progress::warn;
use crate::render::{count, display_of, metric_value, significant};
use crate::training::{self, overrides, read_scenario, warn_of_idle_keys};
use fedflip_run::{Finished, Planned, Setup, simulate_planned, warnings};
use fedflip_scenario::Scenario;

#[derive(Serialize)]
struct RunJson<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// `stopped` if it can be resumed.
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
    let overrides = overrides(&args.training.set, args.training.seed);
    let scenario = read_scenario(&args.scenario, &overrides, args.scheme.as_deref())?;
    warn_of_idle_keys(&args.training.set, from_ref(&scenario.plan.scheme), from_ref(&scenario));
    let mut session = training::session(&args.training)?;
    let setup = Setup::new(&scenario, &mut session)?;
    let planned = setup.plan(&scenario, Some(scenario.plan.constants))?;
    warnings::of_plan(&planned, &scenario, &setup.fleet).iter().for_each(|text| warn(text));
    let out = args.training.out.as_deref();
    let done = match simulate_planned(&setup, &scenario, &planned, out, &mut session) {
        Err(RunError::Interrupted) => {
            super::stopped(out.is_some());
            return Ok(ExitStatus::Stopped);
        }
        done => done?,
    };
    if args.training.json {
        let out = out.map(|out| out.display().to_string());
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
        write_text(output, &scenario, (&setup, &planned), &done, out)?;
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
    let Fold { summary, curve } = &done.fold;
    writeln!(output, "{} under {} {}", scenario.task.name(), summary.scheme, how(done, scenario, out))?;
    if let Some(detail) = &done.detail {
        writeln!(output, "  {detail}")?;
    }
    outcome::write(output, "virtual time", summary, Some(curve))?;
    if let (Some(quiet), Some(every)) = (planned.schedule.quiet(), planned.schedule.quiet_every()) {
        let [quiet, usual] =
            [quiet, planned.schedule.usual()].map(|plan| significant(plan.q().iter().sum(), 3));
        let every = count(every as usize);
        let text = format!("one in {every}: planned for {quiet} devices, the others for {usual}");
        line(output, "quiet rounds", &text)?;
    }
    if let Some(rule) = scenario.round.aggregation.robust_name() {
        line(output, "aggregation", &format!("{rule} (biased)"))?;
    }
    line(output, "costs", &costs::note(&scenario.round_costs()))?;
    let SharingReport { samples, fewest, most, minimum } = setup.sharing;
    let [samples, fewest, most] = [samples, fewest, most].map(count);
    line(output, "data", &format!("{samples} samples, {fewest} to {most} per device"))?;
    if let Some(minimum) = minimum {
        line(output, "", &minimum.to_string())?;
    }
    out.map_or(Ok(()), |out| line(output, "kept in", &out.display().to_string()))
}

/// The end of a sentence that begins with the run.
fn how(done: &Finished, scenario: &Scenario, out: Option<&Path>) -> String {
    let over = if done.had_ended { "was over already: " } else { "" };
    let target = scenario.engine_stop().target.map_or_else(
        || "its target".to_owned(),
        |Target { metric, at, .. }| format!("{} {metric}", metric_value(display_of(&metric), at)),
    );
    match done.fold.summary.end {
        Some(EndReason::Target) => format!("{over}reached {target}"),
        Some(reason) if reason.is_cap() => format!("{over}{}, short of {target}", reason.in_words(false)),
        Some(reason) => format!("{over}{}", reason.in_words(false)),
        None => super::stopped_text(out.is_some()).to_owned(),
    }
}
