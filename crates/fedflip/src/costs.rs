//! The flags about the costs of a round, checked, and the costs in words.

use fedflip_fleet::{Band, Downlink, Download, Fleet, Mbps, Mhz, RoundCosts, Secs, nearest};

use fedflip_record::costs::DownlinkMode;

use crate::args::{BandArgs, CostArgs};
use crate::error::CliError;
use crate::render::{duration, significant};

/// The band of `--bandwidth` or `--spectrum-mhz`. Spectrum needs the signals of the devices.
pub(crate) fn band(args: &BandArgs, fleet: &Fleet) -> Result<Band, CliError> {
    let Some(spectrum) = args.spectrum_mhz else {
        // The parser asks for one of the two.
        return Ok(Band::Linear(bandwidth(args.bandwidth.unwrap_or(0.0))?));
    };
    if fleet.snr_db().is_none() {
        return Err(CliError::usage(
            "--spectrum-mhz: the fleet has no column snr_db",
            "add the signal-to-noise ratio of every device, or use --bandwidth",
        ));
    }
    Ok(Band::Shannon(Mhz::new(spectrum).map_err(CliError::flag("--spectrum-mhz"))?))
}

pub(crate) fn bandwidth(mbps: f64) -> Result<Mbps, CliError> {
    Mbps::new(mbps).map_err(CliError::flag("--bandwidth"))
}

/// All costs of a round.
pub(crate) fn round_costs(args: &CostArgs, fleet: &Fleet) -> Result<RoundCosts, CliError> {
    let band = band(&args.band, fleet)?;
    let overhead = Secs::new(args.overhead_secs).map_err(CliError::flag("--overhead-secs"))?;
    let downlink = downlink(args, band)?;
    Ok(RoundCosts::from(band).with_overhead(overhead).with_downlink(downlink))
}

fn downlink(args: &CostArgs, band: Band) -> Result<Downlink, CliError> {
    let names = DownlinkMode::NAMES;
    let Some((_, mode)) = names.iter().find(|(name, _)| *name == args.downlink) else {
        let hint = match nearest(&args.downlink, names.map(|(name, _)| name)) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("the modes are {}", names.map(|(name, _)| name).join(", ")),
        };
        return Err(CliError::usage(format!("--downlink: there is no mode {:?}", args.downlink), hint));
    };
    let bandwidth = match (mode, args.downlink_bandwidth, band) {
        (None, Some(_), _) => {
            return Err(CliError::usage(
                "--downlink-bandwidth: downloads cost nothing without --downlink",
                "add --downlink broadcast or --downlink unicast",
            ));
        }
        (None, None, _) => return Ok(Downlink::None),
        (Some(_), Some(mbps), _) => Mbps::new(mbps).map_err(CliError::flag("--downlink-bandwidth"))?,
        (Some(_), None, Band::Linear(bandwidth)) => bandwidth,
        (Some(_), None, Band::Shannon(_)) => {
            return Err(CliError::usage(
                "--downlink: the bandwidth of downloads is not known",
                "add --downlink-bandwidth, since --spectrum-mhz is for uploads",
            ));
        }
    };
    let wanted = "a number from 0 to 1e6";
    let per_upload = CliError::in_range("--downlink-ratio", args.downlink_ratio, 0.0..=1e6, wanted)?;
    Ok(mode.map_or(Downlink::None, |mode| mode.downlink(Download { bandwidth, per_upload })))
}

/// What rounds cost, as a note below a table.
pub(crate) fn note(costs: &RoundCosts) -> String {
    let is_papers = costs.overhead_secs <= 0.0 && matches!(costs.downlink, Downlink::None);
    let free = if is_papers { "; downloads and overhead cost nothing" } else { "" };
    format!("devices {}{free}", describe(costs))
}

/// Such as `share 100 Mbit/s; every round takes 120 ms more`.
pub(crate) fn describe(costs: &RoundCosts) -> String {
    let mut text = match costs.band {
        Band::Linear(bandwidth) => format!("share {bandwidth}"),
        Band::Shannon(spectrum) => format!("share {spectrum} of spectrum"),
    };
    let download = |how: &str, Download { bandwidth, per_upload }: Download| {
        format!("; {how} of {} × the upload at {bandwidth}", significant(per_upload, 3))
    };
    match costs.downlink {
        Downlink::None => {}
        Downlink::Broadcast(size) => text += &download("the model is a broadcast", size),
        Downlink::Unicast(size) => text += &download("each device downloads the model", size),
    }
    if costs.overhead_secs > 0.0 {
        text += &format!("; every round takes {} more", duration(costs.overhead_secs));
    }
    text
}
