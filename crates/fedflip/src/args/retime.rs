//! The arguments of `retime`.

use std::path::PathBuf;

use super::number;

/// Recompute the clock of finished runs, without training again.
///
/// Cohorts and models stay the same; the fleet, the bandwidth or the costs of a round change.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The result equals the records of a run from scratch, to the byte. The command refuses a run, with the reason, if the clock
decides its cohorts or its end: a planned scheme under another fleet, a deadline, a cap on virtual time.

Examples:
  fedflip retime runs/weighted --bandwidth 400 --out runs/weighted-400
  fedflip retime runs/* --overhead-secs 0.12 --out with-overhead
  fedflip retime runs/uniform --fleet fleet.csv --set round.downlink=broadcast --out other-clock")]
pub(crate) struct RetimeArgs {
    /// Folders of finished runs
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Folder of the new run; for several runs, a folder with one new run for each, under its old name
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Take the times of devices from this fleet file
    #[arg(long, value_name = "FLEET")]
    pub fleet: Option<PathBuf>,
    /// Set the bandwidth, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Set the time in seconds that every round takes in addition
    #[arg(long, value_name = "SECS", value_parser = number, allow_negative_numbers = true)]
    pub overhead_secs: Option<f64>,
    /// Set the way in which devices get the model: none, broadcast or unicast
    #[arg(long, value_name = "MODE")]
    pub downlink: Option<String>,
    /// Set another key of the clock, such as downlink.bandwidth_mbps=50; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON object per run instead of text
    #[arg(long)]
    pub json: bool,
}
