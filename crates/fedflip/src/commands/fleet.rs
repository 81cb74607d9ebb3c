//! `fedflip fleet new | show`.

use std::io::Write;

use fedflip_fleet::profiles::{Profile, ProfileSettings};
use fedflip_fleet::{Gflop, Mbit, csv_file};

use super::print_json;
use crate::args::{FleetNewArgs, FleetShowArgs};
use crate::error::CliError;
use crate::planner::FleetSummary;
use crate::settings::{read_fleet, source_name};

pub(super) fn new(args: &FleetNewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let work = args.compute_gflop.map(Gflop::new).transpose().map_err(CliError::flag("--compute-gflop"))?;
    let settings = ProfileSettings {
        devices: usize::try_from(args.devices).unwrap_or(usize::MAX),
        payload: Mbit::new(args.payload_mbit).map_err(CliError::flag("--payload-mbit"))?,
        work,
        samples_total: args.samples_total.unwrap_or(args.devices.saturating_mul(600)),
        concentration: args.concentration,
        seed: args.seed,
    };
    let fleet = Profile::named(&args.profile)?.fleet(&settings)?;
    Ok(csv_file::write(&fleet, output)?)
}

pub(super) fn show(args: &FleetShowArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let fleet = read_fleet(&args.fleet)?;
    let summary = FleetSummary::new(&fleet);
    if args.json {
        return print_json(output, &summary);
    }
    Ok(summary.write(output, &fleet, source_name(&args.fleet))?)
}
