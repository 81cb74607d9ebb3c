//! The command `fedflip allocate`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use fedflip_fleet::bandwidth::{Division, allocate};
use fedflip_fleet::{Fleet, nearest};
use serde::Serialize;

use super::print_json;
use crate::args::AllocateArgs;
use crate::costs::band;
use crate::error::CliError;
use crate::render::{Table, duration, name, significant};
use crate::settings::read_fleet;

#[derive(Serialize)]
struct AllocationJson<'a> {
    round_secs: f64,
    shares: Vec<ShareJson<'a>>,
}

#[derive(Serialize)]
struct ShareJson<'a> {
    device: usize,
    name: &'a str,
    mbps: f64,
    compute_secs: f64,
    upload_secs: f64,
}

pub(super) fn run(args: &AllocateArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let fleet = read_fleet(&args.fleet)?;
    let band = band(&args.band, &fleet)?;
    let cohort = cohort(&args.cohort, &fleet)?;
    let by = |division: Division| allocate(&fleet, &cohort, band, division);
    let (adaptive, equal) =
        ((by(Division::Adaptive)?, "adaptive shares"), (by(Division::Equal)?, "equal shares"));
    let ((allocation, this), (other, that)) = if args.equal { (equal, adaptive) } else { (adaptive, equal) };
    let shares = allocation.shares.iter().map(|share| ShareJson {
        device: share.device,
        name: fleet.name(share.device),
        mbps: share.mbps,
        compute_secs: share.compute_secs,
        upload_secs: share.upload_secs,
    });
    let json = AllocationJson { round_secs: allocation.round_secs, shares: shares.collect() };
    if args.json {
        return print_json(output, &json);
    }

    let mut table = Table::new(&["device", "position", "compute", "Mbit/s", "upload", "done at"]);
    for share in &json.shares {
        table.row(vec![
            name(share.name),
            share.device.to_string(),
            duration(share.compute_secs),
            significant(share.mbps, 4),
            duration(share.upload_secs),
            duration(share.compute_secs + share.upload_secs),
        ]);
    }
    table.write(output)?;
    writeln!(
        output,
        "\n  The round takes {} with {this}; with {that} it would take {}.",
        duration(allocation.round_secs),
        duration(other.round_secs)
    )?;
    Ok(())
}

/// `3,phone-7,9` as ascending positions in the fleet. A name wins over a position, because a device may be called `3`.
fn cohort(text: &str, fleet: &Fleet) -> Result<Vec<usize>, CliError> {
    let devices = fleet.len();
    let by_name: BTreeMap<&str, usize> =
        (0..devices).map(|position| (fleet.name(position), position)).collect();
    let mut cohort = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let refuse =
            |problem: &str, hint: String| CliError::usage(format!("--cohort: {part:?} {problem}"), hint);
        let range = || format!("write names, or positions from 0 to {}, separated by commas", devices - 1);
        let position = match (by_name.get(part), part.parse::<usize>()) {
            (Some(&position), _) => position,
            (None, Ok(position)) if position < devices => position,
            (None, Ok(_)) => {
                return Err(refuse(&format!("is outside the fleet of {devices} devices"), range()));
            }
            (None, Err(_)) => {
                let hint = nearest(part, by_name.keys()).map(|name| format!("did you mean {name}?"));
                return Err(refuse("is neither a device name nor a position", hint.unwrap_or_else(range)));
            }
        };
        if !cohort.insert(position) {
            return Err(refuse("occurs twice", "name every device once".to_owned()));
        }
    }
    Ok(cohort.into_iter().collect())
}
