//! What may be typed after `retime`.

use std::path::PathBuf;

use super::number;

/// Give finished runs another clock, without training again: the same cohorts and models under another fleet, bandwidth
/// or cost of a round.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The result is what a run from scratch would have recorded, to the byte. A run is refused, with the reason, where the clock
decides who takes part or when it ends: a planned scheme under another fleet, a deadline, a cap on virtual time.

Examples:
  fedflip retime runs/weighted --bandwidth 400 --out runs/weighted-400
  fedflip retime runs/* --overhead-secs 0.12 --out with-overhead
  fedflip retime runs/uniform --fleet fleet.csv --set round.downlink=broadcast --out other-clock")]
pub(crate) struct RetimeArgs {
    /// Folders of finished runs
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Folder to write: the run itself, or a folder for each of several runs, with their names
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Devices with other times, from a fleet file
    #[arg(long, value_name = "FLEET")]
    pub fleet: Option<PathBuf>,
    /// Another bandwidth, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Time that every round takes in addition
    #[arg(long, value_name = "SECS", value_parser = number, allow_negative_numbers = true)]
    pub overhead_secs: Option<f64>,
    /// How devices get the model: none, broadcast or unicast
    #[arg(long, value_name = "MODE")]
    pub downlink: Option<String>,
    /// Another key of the clock, such as downlink.bandwidth_mbps=50
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON object per run instead
    #[arg(long)]
    pub json: bool,
}
