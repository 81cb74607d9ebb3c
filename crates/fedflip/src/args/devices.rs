//! The arguments of `devices`.

use std::path::PathBuf;

/// List or retire the devices of a deployed run.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum DevicesCommand {
    /// List the devices of a run with slot, state, data, speed, link and certificate
    List(DevicesListArgs),
    /// Retire devices for good; the next plan leaves them out
    Retire(DevicesRetireArgs),
}

/// The folder of a deployed run.
#[derive(Debug, clap::Args)]
pub(crate) struct DeployedRunArgs {
    /// Folder of the run: the --out of `fedflip serve`
    #[arg(long, value_name = "FOLDER")]
    pub run: PathBuf,
}

/// List the devices of a run.
///
/// The command works whether or not the server runs. A running server writes `devices.json` every few seconds. The list
/// shows which devices are connected only while the server runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip devices list --run run
  fedflip devices list --run run --json")]
pub(crate) struct DevicesListArgs {
    #[command(flatten)]
    pub folder: DeployedRunArgs,
    /// Print one JSON array instead of text
    #[arg(long)]
    pub json: bool,
}

/// Retire devices for good.
///
/// A running server applies the change after the round in progress, a stopped one at its next start. The next plan is for
/// the other devices: their aggregation weights are renormalised, and the records name the round. From then on the server
/// refuses the retired devices. `fedflip certs revoke NAME` also retires a device.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip devices retire phone-01 --run run
  fedflip devices retire phone-01 phone-02 --run run")]
pub(crate) struct DevicesRetireArgs {
    /// Names of the devices to retire
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub folder: DeployedRunArgs,
}
