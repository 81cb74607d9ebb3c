//! The arguments for the costs of a round.

use super::number;

/// The bandwidth or the spectrum that a cohort shares.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct BandArgs {
    /// Bandwidth that the devices of a round share, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Spectrum that the devices of a round share, in MHz, instead of a bandwidth. Rates follow Shannon's formula; the fleet needs the column snr_db
    #[arg(long, value_name = "MHZ", value_parser = number, allow_negative_numbers = true)]
    pub spectrum_mhz: Option<f64>,
}

/// The costs of a round besides computing and uploading.
#[derive(Debug, clap::Args)]
pub(crate) struct CostArgs {
    #[command(flatten)]
    pub band: BandArgs,
    /// Time in seconds that every round takes in addition, also if its cohort is empty
    #[arg(long, value_name = "SECS", value_parser = number, allow_negative_numbers = true, default_value_t = 0.0)]
    pub overhead_secs: f64,
    /// Way in which devices get the model: none (at no cost), broadcast (once for all) or unicast (once for each)
    #[arg(long, value_name = "MODE", default_value = "none")]
    pub downlink: String,
    /// Bandwidth of downloads, in Mbit/s [default: --bandwidth]
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub downlink_bandwidth: Option<f64>,
    /// Size of a download divided by the size of an upload: 8 for a model in f32 and updates in int4
    #[arg(long, value_name = "RATIO", value_parser = number, allow_negative_numbers = true, default_value_t = 1.0)]
    pub downlink_ratio: f64,
}
