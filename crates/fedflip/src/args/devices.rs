//! What may be typed after `devices`.

use std::path::PathBuf;

/// List or retire the devices of a deployed run.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum DevicesCommand {
    /// List the devices of a run: slot, state, data, speed, link and certificate
    List(DevicesListArgs),
    /// Retire devices for good: the next plan is for the others
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
/// Works while the server runs and while it does not. The server writes `devices.json` every few seconds; who is
/// connected is known only while the server runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip devices list --run run
  fedflip devices list --run run --json")]
pub(crate) struct DevicesListArgs {
    #[command(flatten)]
    pub folder: DeployedRunArgs,
    /// Print one JSON array instead
    #[arg(long)]
    pub json: bool,
}

/// Retire devices for good.
///
/// A server that runs notices it after the round in progress; otherwise it holds from the next start. The next plan is
/// for the other devices, their aggregation weights are renormalised, and the records name the round. The server
/// refuses retired devices from then on. `fedflip certs revoke NAME` also retires a device.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip devices retire phone-01 --run run
  fedflip devices retire phone-01 phone-02 --run run")]
pub(crate) struct DevicesRetireArgs {
    /// Names of devices
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub folder: DeployedRunArgs,
}
