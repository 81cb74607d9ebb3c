//! The arguments of `join`.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tracing_subscriber::filter::LevelFilter;

/// Take part in a run: flip this device's coin, train on its data, send what was learnt.
///
/// The server says what is learnt. The device trains on its own samples (--data), which it shows to nobody, or on its
/// share of a public data set, which must be here (`fedflip data get`). The agent stays until the run is over, and comes back by itself whenever the line breaks. If the run ends while it is
/// away, and the server with it, nobody is left to say so: it tries until --give-up-secs.
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

Exit codes: 0 the run is over, or the agent was told to stop; 1 the system failed it; 2 bad input, or the server
refuses this device")]
pub struct JoinArgs {
    /// The server, as HOST:PORT
    pub server: String,
    /// Settings of this device (TOML); a relative path in the file is relative to the file's folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder of this device's identity, as `fedflip certs device` made it
    #[arg(long, value_name = "FOLDER", required_unless_present = "insecure")]
    pub identity: Option<PathBuf>,
    /// No certificates, plain text: for a server on this machine only
    #[arg(long, conflicts_with = "identity", requires = "name")]
    pub insecure: bool,
    /// With --insecure: the name of this device
    #[arg(long, value_name = "NAME", requires = "insecure", conflicts_with = "identity")]
    pub name: Option<String>,
    /// Folder of data sets (by default $FEDFLIP_DATA, or `fedflip` in the user's cache folder)
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Samples of this device: a file (.npz, .safetensors, .parquet, .csv, .txt) or a folder; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub data: Vec<PathBuf>,
    /// Train for at least this many seconds per round, to emulate a slower device
    #[arg(long, value_name = "SECS", default_value_t = 0.0)]
    pub compute_secs: f64,
    /// Keep the model at the end of the run in this file, as safetensors
    #[arg(long, value_name = "FILE")]
    pub save_model: Option<PathBuf>,
    /// Give up after this many seconds without an answer of the server (by default never)
    #[arg(long, value_name = "SECS")]
    pub give_up_secs: Option<f64>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "clap would take a comment for help")]
    pub logs: LogArgs,
}

/// The arguments of a log.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LogArgs {
    /// Write the log on standard error as text or as json (one object per line)
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, hide_possible_values = true)]
    pub log: LogFormat,
    /// Log level: off, error, warn, info or debug
    #[arg(long, value_name = "LEVEL", value_parser = log_levels(), default_value = "info", hide_possible_values = true)]
    pub log_level: LevelFilter,
}

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

fn log_levels() -> impl TypedValueParser<Value = LevelFilter> {
    let levels = PossibleValuesParser::new(["off", "error", "warn", "info", "debug"]);
    levels.try_map(|level| level.parse::<LevelFilter>())
}
