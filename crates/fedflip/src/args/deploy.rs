//! What may be typed after `serve` and `demo`.

use std::path::PathBuf;

use fedflip_agent::LogArgs;

use super::{DashboardArgs, DataDirArgs};

/// Train on real devices: wait for them, plan, and run rounds until the target.
///
/// The scenario says what is learnt and by how many devices; their times are measured, not taken from it. All
/// that was committed is in --out: a server that was stopped or killed resumes when it is started again with the
/// same command.
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

Exit codes: 0 ended, or stopped by Ctrl-C or SIGTERM; 1 the system failed it; 2 bad input; 3 the model diverged")]
pub(crate) struct ServeArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    /// Folder for state, records and models; a run in it is resumed
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Where devices call, as ADDRESS:PORT (by default port 7700, of this machine alone with --insecure)
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Folder of the certificate authority, as `fedflip certs init` made it
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub certs: PathBuf,
    /// No certificates, plain text: for devices on this machine only
    #[arg(long)]
    pub insecure: bool,
    /// How q is chosen (by default as the scenario says); file=q.csv names devices as their certificates do
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    /// A value to take instead of the scenario's; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Seed of everything that chance decides but for the data and the coins (by default the scenario's)
    #[arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// First measure α and β by pilots on the devices; auto, the default scheme, needs none
    #[arg(long)]
    pub pilots: bool,
    /// Begin when this number of devices have enrolled (by default fleet.devices); others join with the next plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_min: Option<u32>,
    /// The most devices at a time; retired ones make room (by default fleet.devices, which is the most where the
    /// scenario shares out a data set)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_max: Option<u32>,
    /// The most samples that a device may claim to hold where its data are its own
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub samples_max: u64,
    /// Rounds after which the plan is checked again; 0 keeps the first plan
    #[arg(long, value_name = "ROUNDS", default_value_t = 20)]
    pub replan_every: u64,
    /// How long devices have to flip their coins
    #[arg(long, value_name = "SECS", default_value_t = 5.0)]
    pub window_secs: f64,
    /// Share of the fleet that must be there for a round to be opened
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub quorum: f64,
    /// Serve /metrics (Prometheus), /healthz and /readyz here, as ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Allow a --metrics address that other machines can reach
    #[arg(long, requires = "metrics")]
    pub metrics_public: bool,
    /// Workers that score the model (by default one per processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub data: DataDirArgs,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print one JSON object with the result instead
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub logs: LogArgs,
}

/// See it all on this machine: a server, five devices of different speeds, a dashboard.
///
/// Makes certificates in a temporary folder, starts `fedflip serve` and five `fedflip join` as processes of their
/// own, trains the embedded task to its target, and cleans up.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip demo
  fedflip demo --dashboard 8080 --keep-dashboard
  fedflip demo --keep demo-run && fedflip report demo-run/run --out demo.html")]
pub(crate) struct DemoArgs {
    /// Devices, each slower than the one before
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=50))]
    pub devices: u16,
    /// Accuracy at which it ends
    #[arg(long, value_name = "SHARE", default_value_t = 0.85)]
    pub target: f64,
    /// Keep certificates, state, records and logs in this new folder
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print one JSON object with the result instead
    #[arg(long)]
    pub json: bool,
}
