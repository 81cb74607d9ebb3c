//! What may be typed after `fleet`.

use clap::{Subcommand, ValueEnum};

use super::{count, number};

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
