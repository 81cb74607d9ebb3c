//! The arguments of `serve` and `demo`.

use std::path::PathBuf;

use fedflip_agent::LogArgs;

use super::{DashboardArgs, DataDirArgs};

/// Train on real devices: wait for them, plan, and run rounds until the target is reached.
///
/// The scenario names the task and the number of devices. Compute and upload times are measured, not taken from the
/// scenario. The folder --out holds the state of the run: a server that was stopped or killed resumes when it is
/// started again with the same command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs init --host fl.example.org
  fedflip certs device phone-01 phone-02 phone-03
  fedflip serve s.toml --set fleet.devices=3 --out run
  fedflip serve s.toml --out run --scheme exact --pilots --metrics 127.0.0.1:9090 --dashboard 8080
  fedflip serve s.toml --out run --scheme file=q.csv
  fedflip serve s.toml --out run --devices-min 3 --devices-max 8
  fedflip serve s.toml --out run --insecure --listen 127.0.0.1:7700

Exit codes: 0 the run ended, or Ctrl-C or SIGTERM stopped it; 1 the system failed; 2 the input is
invalid; 3 the model diverged")]
pub(crate) struct ServeArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    /// Save state, records and models in this folder; a run that it holds is resumed
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Address at which devices connect, as ADDRESS:PORT [default: port 7700; with --insecure of this machine alone]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Folder of the certificate authority, made by `fedflip certs init`
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub certs: PathBuf,
    /// Serve plain text without certificates, to devices on this machine only
    #[arg(long)]
    pub insecure: bool,
    /// Scheme that chooses q; file=q.csv names devices as their certificates do [default: the scenario's]
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    /// Set a key of the scenario to another value; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Seed of everything random except the data and the coins [default: the scenario's]
    #[arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Measure α and β first, by pilots on the devices; auto, the default scheme, needs no pilots
    #[arg(long)]
    pub pilots: bool,
    /// Begin when this number of devices have enrolled; others join with the next plan [default: fleet.devices]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_min: Option<u32>,
    /// Largest number of devices at a time; a retired device makes room for another. If the scenario divides a data set,
    /// at most fleet.devices [default: fleet.devices]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_max: Option<u32>,
    /// Largest number of samples that a device may claim, if devices have data of their own
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub samples_max: u64,
    /// Check the plan again after this number of rounds; 0 keeps the first plan
    #[arg(long, value_name = "ROUNDS", default_value_t = 20)]
    pub replan_every: u64,
    /// Time in seconds within which devices flip their coins
    #[arg(long, value_name = "SECS", default_value_t = 5.0)]
    pub window_secs: f64,
    /// Share of the fleet that must be connected before a round opens
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub quorum: f64,
    /// Serve /metrics (Prometheus), /healthz and /readyz at this ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Allow a --metrics address that other machines can reach
    #[arg(long, requires = "metrics")]
    pub metrics_public: bool,
    /// Number of threads that evaluate the model [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub data: DataDirArgs,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print the result as one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Demonstrate a deployment on this machine: a server, five devices of different speeds, a dashboard.
///
/// The command makes certificates in a temporary folder and starts `fedflip serve` and five `fedflip join`, each in its
/// own process. It trains on synthetic data to the target and cleans up.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip demo
  fedflip demo --dashboard 8080 --keep-dashboard
  fedflip demo --keep demo-run && fedflip report demo-run/run --out demo.html")]
pub(crate) struct DemoArgs {
    /// Number of devices, each slower than the one before
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=50))]
    pub devices: u16,
    /// Accuracy at which the run ends
    #[arg(long, value_name = "SHARE", default_value_t = 0.85)]
    pub target: f64,
    /// Keep certificates, state, records and logs in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print the result as one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
