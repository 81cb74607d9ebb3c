//! What may be typed about the costs of a round.

use super::number;

/// The bandwidth that the devices of a round share.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct BandArgs {
    /// The bandwidth that the devices of a round share, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// The spectrum that they share instead, in MHz: rates follow Shannon, and the fleet needs the column snr_db
    #[arg(long, value_name = "MHZ", value_parser = number, allow_negative_numbers = true)]
    pub spectrum_mhz: Option<f64>,
}

/// What a round costs besides computing and uploading.
#[derive(Debug, clap::Args)]
pub(crate) struct CostArgs {
    #[command(flatten)]
    pub band: BandArgs,
    /// Time that every round takes in addition, empty ones included
    #[arg(long, value_name = "SECS", value_parser = number, allow_negative_numbers = true, default_value_t = 0.0)]
    pub overhead_secs: f64,
    /// How devices get the model: none (at no cost), broadcast (once for all) or unicast (once for each)
    #[arg(long, value_name = "MODE", default_value = "none")]
    pub downlink: String,
    /// The bandwidth of downloads, in Mbit/s [default: --bandwidth]
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub downlink_bandwidth: Option<f64>,
    /// What a device downloads, in units of its upload: 8 for a model in f32 and updates in int4
    #[arg(long, value_name = "RATIO", value_parser = number, allow_negative_numbers = true, default_value_t = 1.0)]
    pub downlink_ratio: f64,
}
