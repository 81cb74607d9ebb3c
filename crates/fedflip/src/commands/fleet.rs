//! `fedflip fleet new | show`.

use std::io::Write;

use fedflip_fleet::profiles::{Profile, ProfileSettings};
use fedflip_fleet::{Fleet, Gflop, Mbit, csv_file};
use fedflip_plan::variance::least_sampling_variance;
use serde::Serialize;

use super::groups;
use super::print_json;
use crate::args::{FleetNewArgs, FleetShowArgs};
use crate::error::CliError;
use crate::render::{Table, devices, histogram, percent, range, significant};
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

#[derive(Serialize)]
struct Summary {
    devices: usize,
    samples: f64,
    /// Σ a²/availability: the least sampling variance, which β must exceed.
    least_variance: f64,
    /// Its inverse: the number of equal devices, always available, that would have the same variance.
    effective_devices: f64,
    compute_secs: Range,
    comm_secs: Range,
    availability: Range,
    /// The links' own limits; absent where devices have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_mbps: Option<Range>,
    /// The signal-to-noise ratios; absent where they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    snr_db: Option<Range>,
}

#[derive(Serialize)]
struct Range {
    min: f64,
    mean: f64,
    max: f64,
}

impl Range {
    fn of(values: &[f64]) -> Self {
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The limits of the links that have one: a device without a limit has no place on a scale.
fn known_limits(fleet: &Fleet) -> Option<Vec<f64>> {
    let limits = fleet.link_mbps()?.iter().copied().filter(|mbps| mbps.is_finite());
    Some(limits.collect()).filter(|limits: &Vec<f64>| !limits.is_empty())
}

pub(super) fn show(args: &FleetShowArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let fleet = read_fleet(&args.fleet)?;
    let least_variance = least_sampling_variance(&fleet);
    let limits = known_limits(&fleet);
    let summary = Summary {
        devices: fleet.len(),
        samples: fleet.samples().iter().sum(),
        least_variance,
        effective_devices: 1.0 / least_variance,
        compute_secs: Range::of(fleet.compute_secs()),
        comm_secs: Range::of(fleet.comm_secs()),
        availability: Range::of(fleet.availability()),
        link_mbps: limits.as_deref().map(Range::of),
        snr_db: fleet.snr_db().map(Range::of),
    };
    if args.json {
        return print_json(output, &summary);
    }

    let (devices, samples) = (devices(summary.devices), significant(summary.samples, 6));
    writeln!(
        output,
        "{}: {devices}, {samples} samples (bars: how many devices, on a logarithmic scale)",
        source_name(&args.fleet)
    )?;
    writeln!(output)?;
    writeln!(output, "  compute a round           {}", histogram(fleet.compute_secs(), "s"))?;
    writeln!(output, "  send a round at 1 Mbit/s  {}", histogram(fleet.comm_secs(), "s"))?;
    writeln!(output, "  samples                   {}", histogram(fleet.samples(), ""))?;
    if summary.availability.min < 1.0 {
        writeln!(output, "  availability              {}", histogram(fleet.availability(), ""))?;
    }
    if let Some(limits) = &limits {
        writeln!(output, "  limit of the link         {}", histogram(limits, "Mbit/s"))?;
    }
    writeln!(output)?;
    if let Some(groups) = groups::by_type(&fleet) {
        let mut table =
            Table::new(&["type", "devices", "compute", "send at 1 Mbit/s", "samples", "share of data"]);
        for group in &groups {
            table.row(vec![
                group.name.clone(),
                group.positions.len().to_string(),
                range(group.range(fleet.compute_secs()), " s"),
                range(group.range(fleet.comm_secs()), " s"),
                range(group.range(fleet.samples()), ""),
                percent(group.sum(fleet.weights())),
            ]);
        }
        table.write(output)?;
        writeln!(output)?;
    }
    writeln!(
        output,
        "  Full participation has the sampling variance Σ a²/availability = {}, like {} equal devices: β must exceed it.",
        significant(least_variance, 3),
        significant(summary.effective_devices, 3)
    )?;
    Ok(())
}
