//! `fedflip allocate`.

use std::io::Write;

use fedflip_fleet::bandwidth::{allocate, allocate_equal};
use serde::Serialize;

use super::print_json;
use crate::args::AllocateArgs;
use crate::error::CliError;
use crate::render::{Table, duration, significant};
use crate::settings::{band, cohort, read_fleet};

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
    let band = band(args.bandwidth)?;
    let fleet = read_fleet(&args.fleet)?;
    let cohort = cohort(&args.cohort, fleet.len())?;
    let adaptive = allocate(&fleet, &cohort, band);
    let equal = allocate_equal(&fleet, &cohort, band);
    let (allocation, other) = if args.equal { (equal, adaptive) } else { (adaptive, equal) };
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
            share.name.to_owned(),
            share.device.to_string(),
            duration(share.compute_secs),
            significant(share.mbps, 4),
            duration(share.upload_secs),
            duration(share.compute_secs + share.upload_secs),
        ]);
    }
    table.write(output)?;
    let (this, that) =
        if args.equal { ("equal shares", "adaptive shares") } else { ("adaptive shares", "equal shares") };
    writeln!(
        output,
        "\n  The round takes {} with {this}; with {that} it would take {}.",
        duration(allocation.round_secs),
        duration(other.round_secs)
    )?;
    Ok(())
}
