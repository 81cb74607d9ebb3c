//! The arguments of `join`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tracing_subscriber::filter::LevelFilter;

/// Take part in a run as a device: flip its coin, train on its data, upload its updates.
///
/// The server names the task. The device trains on its own samples (--data), which never leave it, or on its share of a
/// public data set, which must be on this machine (`fedflip data get`). The agent stays until the run is over, and
/// connects again after every lost connection. If the run ends while the device is not connected, the agent
/// tries to connect until --give-up-secs.
///
/// The small program `fedflip-join` is this command alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip join fl.example.org:7700 --identity phone-01
  fedflip join fl.example.org:7700 --identity phone-01 --data mine.npz
  fedflip join 127.0.0.1:7700 --insecure --name phone-01
  fedflip join fl.example.org:7700 --identity phone-01 --save-model model.safetensors
  fedflip join --config agent.toml
  FEDFLIP_JOIN_SERVER=fl.example.org:7700 fedflip join --identity phone-01

Every option is also a key of the --config file and an environment variable: --data-dir is data_dir
in the file and FEDFLIP_JOIN_DATA_DIR in the environment; SERVER is server and FEDFLIP_JOIN_SERVER.
The command line has precedence over the environment, and the environment over the file.

Exit codes: 0 the run is over, or the agent was told to stop; 1 the system failed; 2 the input is
invalid, or the server refuses this device")]
pub struct JoinArgs {
    /// Address of the server, as HOST:PORT
    pub server: String,
    /// Read settings of this device from this file (TOML); relative paths in it start from the file's folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of this device's identity, made by `fedflip certs device`
    #[arg(long, value_name = "FOLDER", required_unless_present = "insecure")]
    pub identity: Option<PathBuf>,
    /// Connect in plain text without certificates, to a server on this machine only
    #[arg(long, conflicts_with = "identity", requires = "name")]
    pub insecure: bool,
    /// Name of this device, with --insecure
    #[arg(long, value_name = "NAME", requires = "insecure", conflicts_with = "identity")]
    pub name: Option<String>,
    /// Folder of data sets [default: $FEDFLIP_DATA, or `fedflip` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// File (.npz, .safetensors, .parquet, .csv, .txt) or folder with the samples of this device; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Train for at least this many seconds per round, to emulate a slower device
    #[arg(long, value_name = "SECS", default_value_t = 0.0)]
    pub compute_secs: f64,
    /// Save the final model in this file, as safetensors
    #[arg(long, value_name = "FILE")]
    pub save_model: Option<PathBuf>,
    /// Give up after this many seconds without an answer from the server [default: never]
    #[arg(long, value_name = "SECS")]
    pub give_up_secs: Option<f64>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take a comment for help")]
    pub logs: LogArgs,
}

/// Take part in federated learning: a device that flips its own coin.
#[derive(Debug, clap::Parser)]
#[command(name = "fedflip-join", version, max_term_width = 100)]
pub struct ProgramArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take a comment for help")]
    pub join: JoinArgs,
}

/// The arguments for the log on standard error.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LogArgs {
    /// Write the log on standard error as text or as json (one object per line)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, hide_possible_values = true)]
    pub log: LogFormat,
    /// Log level: off, error, warn, info or debug
    #[arg(long, value_name = "LEVEL", value_parser = log_levels(), default_value = "info", hide_possible_values = true)]
    pub log_level: LevelFilter,
}

/// The format of the log on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people to read
    Text,
    /// One object per line, for programs
    Json,
}

fn log_levels() -> impl TypedValueParser<Value = LevelFilter> {
    let levels = PossibleValuesParser::new(["off", "error", "warn", "info", "debug"]);
    levels.try_map(|level| level.parse::<LevelFilter>())
}
