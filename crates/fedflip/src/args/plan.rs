//! The arguments of `plan`, `allocate` and `bound`.

use std::path::PathBuf;

use fedflip_plan::Scheme;

use super::costs::{BandArgs, CostArgs};
use super::{count, number};

/// Choose the participation probability of each device, to reach the target in the least time.
#[derive(Debug, clap::Args)]
#[command(after_help = plan_help())]
pub(crate) struct PlanArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    #[command(flatten)]
    pub costs: CostArgs,
    #[command(flatten)]
    pub constants: ConstantsArgs,
    /// Scheme that chooses q [default: exact if α and β or pilots are given without --variance, otherwise auto]
    #[arg(long, conflicts_with = "compare")]
    pub scheme: Option<String>,
    /// Plan by every scheme and print a table of all plans
    #[arg(long)]
    pub compare: bool,
    /// Write the plan as CSV (device,q,weight); --scheme file=FILE reads it back
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub out: Option<PathBuf>,
    /// Print one line for each device
    #[arg(long, conflicts_with_all = ["compare", "json"])]
    pub devices: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Seed of the Monte Carlo estimates
    #[arg(long, default_value_t = 0, value_parser = count, allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of cohorts drawn to estimate the mean round time [default: as many as half a second allows, at most 10000]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub draws: Option<u64>,
    /// Sampling variance Σ a²/q of a round that auto plans for; lower values sample more devices per round. Scenarios of tasks with many rounds have 0.175 [default: 1.4]
    #[arg(long, value_name = "VARIANCE", value_parser = number, allow_negative_numbers = true)]
    pub variance: Option<f64>,
    /// Step ε of paper-linesearch over M, in seconds; a given step runs Algorithm 2 exactly as printed [default: a 200th of the range of M, then refined]
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
    /// A pilot, instead of α and β: the number of rounds that a baseline scheme took to a loss, the same for all pilots. Give two or more. 155:uniform took 155 rounds; 500+:uniform gave up after 500
    #[arg(long, value_name = "ROUNDS:SCHEME", conflicts_with_all = ["alpha", "beta"], allow_hyphen_values = true)]
    pub pilot: Vec<String>,
}

impl ConstantsArgs {
    pub(crate) fn are_given(&self) -> bool {
        self.alpha.is_some() || self.beta.is_some() || !self.pilot.is_empty()
    }
}

/// The help text below the options: all schemes, as their table describes them, and examples.
fn plan_help() -> String {
    let schemes: String =
        Scheme::table().map(|(example, row)| format!("  {example:<20}{}\n", row.summary)).collect();
    format!(
        "\
Schemes:
{schemes}
Examples:
  fedflip plan fleet.csv --bandwidth 100
  fedflip plan fleet.csv --bandwidth 100 --compare
  fedflip plan fleet.csv --bandwidth 100 --overhead-secs 0.12 --downlink broadcast --downlink-ratio 8
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043 --out q.csv
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043 --scheme file=q.csv
  fedflip plan fleet.csv --bandwidth 100 --pilot 155:uniform --pilot 13:full --compare
  fedflip plan - --bandwidth 100 --alpha 30 --beta 2.2 --scheme fixed=0.2 --json < fleet.csv"
    )
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
    #[command(flatten)]
    pub band: BandArgs,
    /// Devices of the round, separated by commas: names, or positions in the fleet counted from 0
    #[arg(long, value_name = "DEVICES", allow_hyphen_values = true)]
    pub cohort: String,
    /// Give every device the same share instead, so that devices finish at different times
    #[arg(long)]
    pub equal: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Evaluate the convergence bound of Theorem 1.
///
/// The mean squared gradient norm over R rounds is at most 4(F(x₀) − F*)/(ηR) + 4ηLN(ε² + σ²) Σ a²/q, if
/// N Σ a²/q ≤ p and η ≤ 1/(4Lp).
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("question").required(true).multiple(true).args(["rounds", "threshold"]))]
#[command(after_help = "\
Example:
  fedflip bound fleet.csv --scheme fixed=0.2 --learning-rate 0.001 --smoothness 1 \\
      --divergence 0.5 --gradient-variance 0.5 --initial-gap 2.3 --rounds 20000 --threshold 1.5")]
pub(crate) struct BoundArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// Scheme that chooses q; a planned scheme needs --bandwidth and, except for auto, --threshold
    #[arg(long, default_value = "full")]
    pub scheme: String,
    /// Learning rate η of a local update
    #[arg(long, value_name = "ETA", value_parser = number, allow_negative_numbers = true)]
    pub learning_rate: f64,
    /// Lipschitz constant L of the gradients
    #[arg(long, value_name = "L", value_parser = number, allow_negative_numbers = true)]
    pub smoothness: f64,
    /// Squared distance ε² of local gradients from the global one
    #[arg(long, value_name = "EPS2", value_parser = number, allow_negative_numbers = true)]
    pub divergence: f64,
    /// Variance σ² of the stochastic gradients
    #[arg(long, value_name = "SIGMA2", value_parser = number, allow_negative_numbers = true)]
    pub gradient_variance: f64,
    /// Distance F(x₀) − F* of the initial loss from its minimum
    #[arg(long, value_name = "GAP", value_parser = number, allow_negative_numbers = true)]
    pub initial_gap: f64,
    /// Evaluate the bound after this number of rounds R
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    pub rounds: Option<f64>,
    /// Compute the number of rounds until the bound is at most this threshold ξ
    #[arg(long, value_name = "XI", value_parser = number, allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Constant p of the two conditions [default: N Σ a²/q, the smallest allowed]
    #[arg(long, value_name = "P", value_parser = number, allow_negative_numbers = true)]
    pub p: Option<f64>,
    /// Shared bandwidth in Mbit/s, for a planned scheme
    #[arg(long, value_name = "MBPS", value_parser = number, allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Sampling variance Σ a²/q of a round that auto plans for [default: 1.4]
    #[arg(long, value_name = "VARIANCE", value_parser = number, allow_negative_numbers = true)]
    pub variance: Option<f64>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
