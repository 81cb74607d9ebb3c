//! `fedflip allocate`.

use std::io::Write;

use fedflip_fleet::bandwidth::{Division, allocate};
use serde::Serialize;

use super::print_json;
use crate::error::CliError;
use crate::render::{Table, duration, name, significant};
use crate::settings::AllocateSettings;

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

pub(super) fn run(settings: &AllocateSettings, output: &mut dyn Write) -> Result<(), CliError> {
    let AllocateSettings { fleet, cohort, bandwidth, .. } = settings;
    let adaptive = allocate(fleet, cohort, *bandwidth, Division::Adaptive)?;
    let equal = allocate(fleet, cohort, *bandwidth, Division::Equal)?;
    let (allocation, other) = if settings.equal { (equal, adaptive) } else { (adaptive, equal) };
    let shares = allocation.shares.iter().map(|share| ShareJson {
        device: share.device,
        name: fleet.name(share.device),
        mbps: share.mbps,
        compute_secs: share.compute_secs,
        upload_secs: share.upload_secs,
    });
    let json = AllocationJson { round_secs: allocation.round_secs, shares: shares.collect() };
    if settings.json {
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
    let (this, that) = if settings.equal {
        ("equal shares", "adaptive shares")
    } else {
        ("adaptive shares", "equal shares")
    };
    writeln!(
        output,
        "\n  The round takes {} with {this}; with {that} it would take {}.",
        duration(allocation.round_secs),
        duration(other.round_secs)
    )?;
    Ok(())
}
