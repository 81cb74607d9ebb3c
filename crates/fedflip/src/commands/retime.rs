//! The command `fedflip retime`.

use std::io::Write;
use std::path::{Path, PathBuf};

use fedflip_record::folder::RUN;
use fedflip_run::{Retimed, RunError, retime};
use serde::Serialize;

use super::print_json;
use crate::args::RetimeArgs;
use crate::error::CliError;
use crate::progress::warn;
use crate::render::{Table, duration, significant};

#[derive(Serialize)]
struct RetimedJson {
    run: String,
    out: String,
    #[serde(flatten)]
    retimed: Retimed,
}

pub(super) fn run(args: &RetimeArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let overrides = overrides(args)?;
    let mut table = Table::new(&["run", "rounds", "time", "was", "ratio"]);
    let (mut written, mut refused) = (0, Vec::new());
    for (from, out) in args.runs.iter().zip(folders(args)?) {
        if out.join(RUN).exists() {
            let hint = "name a folder that does not exist yet";
            return Err(CliError::usage(format!("--out: {} already holds a run", out.display()), hint));
        }
        let retimed = match retime(from, &overrides, &out) {
            // One of several runs does not cost the others their new clock.
            Err(error @ RunError::CannotRetime { .. }) if args.runs.len() > 1 => {
                refused.push(error);
                continue;
            }
            retimed => retimed?,
        };
        written += 1;
        let (run, out) = (from.display().to_string(), out.display().to_string());
        let Retimed { rounds, secs_before, secs } = retimed;
        if args.json {
            print_json(output, &RetimedJson { run, out, retimed })?;
        } else {
            let ratio = match secs_before > 0.0 {
                true => format!("{} ×", significant(secs / secs_before, 3)),
                false => "–".to_owned(),
            };
            table.row(vec![run, rounds.to_string(), duration(secs), duration(secs_before), ratio]);
        }
    }
    if !args.json && written > 0 {
        table.write(output)?;
    }
    refused.iter().for_each(|error| warn(&error.to_string()));
    match refused.into_iter().next() {
        Some(error) if written == 0 => Err(error.into()),
        _ => Ok(()),
    }
}

/// The flags as keys of a scenario.
fn overrides(args: &RetimeArgs) -> Result<Vec<String>, CliError> {
    let mut keys = Vec::new();
    if let Some(fleet) = &args.fleet {
        // The stored scenario looks for files in the folder of its run.
        let path = std::path::absolute(fleet)?;
        keys.push(format!("fleet.file={:?}", path.display().to_string()));
    }
    keys.extend(args.bandwidth.map(|mbps| format!("fleet.bandwidth_mbps={mbps}")));
    keys.extend(args.overhead_secs.map(|secs| format!("round.overhead_secs={secs}")));
    keys.extend(args.downlink.as_ref().map(|mode| format!("round.downlink={mode}")));
    keys.extend_from_slice(&args.set);
    if keys.is_empty() {
        return Err(CliError::usage(
            "no setting of the clock is changed",
            "add --fleet, --bandwidth, --overhead-secs, --downlink or --set KEY=VALUE",
        ));
    }
    Ok(keys)
}

/// Where each run goes.
fn folders(args: &RetimeArgs) -> Result<Vec<PathBuf>, CliError> {
    if args.runs.len() == 1 {
        return Ok(vec![args.out.clone()]);
    }
    let named = |run: &PathBuf| Path::file_name(run).map(|name| args.out.join(name));
    let folders: Option<Vec<PathBuf>> = args.runs.iter().map(named).collect();
    let folders = folders.ok_or_else(|| CliError::usage("a run has no name", "name the folders of runs"))?;
    let mut sorted = folders.clone();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(CliError::usage(
            format!("--out: two runs would go to {}", pair[0].display()),
            "retime runs of the same name one by one",
        )),
        None => Ok(folders),
    }
}
