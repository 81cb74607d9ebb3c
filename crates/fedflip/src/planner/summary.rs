//! What a fleet is like: ranges for programs, histograms and types for people.

use std::io::{self, Write};

use fedflip_fleet::Fleet;
use fedflip_plan::variance::least_sampling_variance;
use serde::Serialize;

use super::groups;
use crate::render::{Table, devices, histogram, percent, range, significant};

/// What `fleet show --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetSummary {
    /// The number of devices N.
    pub devices: usize,
    /// |D|: the samples of all devices together.
    pub samples: f64,
    /// Σ a²/availability: the least sampling variance, which β must exceed.
    pub least_variance: f64,
    /// Its inverse: the number of equal devices, always available, that would have the same variance.
    pub effective_devices: f64,
    /// The compute times τ, in seconds.
    pub compute_secs: Range,
    /// The upload times t at 1 Mbit/s, in seconds.
    pub comm_secs: Range,
    /// The caps on q.
    pub availability: Range,
    /// The links' own limits; absent where devices have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_mbps: Option<Range>,
    /// The signal-to-noise ratios; absent where they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr_db: Option<Range>,
}

/// The ends and the middle of a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The smallest of the values.
    pub min: f64,
    /// The mean of all values.
    pub mean: f64,
    /// The largest of the values.
    pub max: f64,
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

impl FleetSummary {
    /// Summarises the devices of a fleet.
    pub fn new(fleet: &Fleet) -> Self {
        let least_variance = least_sampling_variance(fleet);
        Self {
            devices: fleet.len(),
            samples: fleet.samples().iter().sum(),
            least_variance,
            effective_devices: 1.0 / least_variance,
            compute_secs: Range::of(fleet.compute_secs()),
            comm_secs: Range::of(fleet.comm_secs()),
            availability: Range::of(fleet.availability()),
            link_mbps: known_limits(fleet).as_deref().map(Range::of),
            snr_db: fleet.snr_db().map(Range::of),
        }
    }

    /// Writes the summary of `fleet`, which is called `source`, for a terminal.
    pub fn write(&self, output: &mut dyn Write, fleet: &Fleet, source: &str) -> io::Result<()> {
        let (devices, samples) = (devices(self.devices), significant(self.samples, 6));
        writeln!(
            output,
            "{source}: {devices}, {samples} samples (bars: how many devices, on a logarithmic scale)"
        )?;
        writeln!(output)?;
        writeln!(output, "  compute a round           {}", histogram(fleet.compute_secs(), "s"))?;
        writeln!(output, "  send a round at 1 Mbit/s  {}", histogram(fleet.comm_secs(), "s"))?;
        writeln!(output, "  samples                   {}", histogram(fleet.samples(), ""))?;
        if self.availability.min < 1.0 {
            writeln!(output, "  availability              {}", histogram(fleet.availability(), ""))?;
        }
        if let Some(limits) = &known_limits(fleet) {
            writeln!(output, "  limit of the link         {}", histogram(limits, "Mbit/s"))?;
        }
        writeln!(output)?;
        if let Some(groups) = groups::by_type(fleet) {
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
            significant(self.least_variance, 3),
            significant(self.effective_devices, 3)
        )
    }
}

/// The limits of the links that have one: a device without a limit has no place on a scale.
fn known_limits(fleet: &Fleet) -> Option<Vec<f64>> {
    let limits = fleet.link_mbps()?.iter().copied().filter(|mbps| mbps.is_finite());
    Some(limits.collect()).filter(|limits: &Vec<f64>| !limits.is_empty())
}
