//! The arguments of `fleet`.

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser};
use fedflip_fleet::profiles::PROFILES;

use super::{count, number};

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Make a fleet from device types and print it as CSV
    New(FleetNewArgs),
    /// Summarise the devices of a fleet file
    Show(FleetShowArgs),
}

/// The names of all profiles, with a sentence each for `--help`.
fn profiles() -> PossibleValuesParser {
    PROFILES
        .iter()
        .map(|profile| PossibleValue::new(profile.name).help(profile.about))
        .collect::<Vec<_>>()
        .into()
}

/// Make a fleet from device types and print it as CSV.
///
/// The paper names five device types and prints no times for them. The figures of every profile are estimates or
/// inferences; docs/reference/device-types.md has their sources.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: the paper's fleet for the CNN on MNIST, 20 devices of each of 5 types
  fedflip fleet new --devices 100 --profile paper --payload-mbit 0.7 --compute-gflop 0.92 --seed 7 > fleet.csv

Example: phones on one LTE carrier, planned for the spectrum that they share
  fedflip fleet new --profile 4g > phones.csv
  fedflip plan phones.csv --spectrum-mhz 18")]
pub(crate) struct FleetNewArgs {
    /// Number of devices, in equal blocks of each type
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = count, allow_negative_numbers = true)]
    pub devices: u64,
    /// Profile of device types, compute times and links
    #[arg(long, value_name = "NAME", default_value = PROFILES[0].name, value_parser = profiles())]
    pub profile: String,
    /// Size of an upload, in Mbit; 21,840 parameters of 32 bits are 0.7
    #[arg(long, value_name = "MBIT", default_value_t = 0.7, value_parser = number, allow_negative_numbers = true)]
    pub payload_mbit: f64,
    /// Work of a local update, in 10⁹ operations; 10 batches of 32 images are 0.92. The profile paper-calibrated refuses
    /// this option, because its compute times follow from the payload [default: 0.92]
    #[arg(long, value_name = "GFLOP", value_parser = number, allow_negative_numbers = true)]
    pub compute_gflop: Option<f64>,
    /// Number of samples of all devices together [default: 600 per device]
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    pub samples_total: Option<u64>,
    /// Concentration of the Dirichlet distribution that divides the samples; small values are skewed [default: 0.8; 8 for
    /// paper-calibrated]
    #[arg(long, value_name = "X", value_parser = number, allow_negative_numbers = true)]
    pub concentration: Option<f64>,
    /// Seed of samples and links; the same seed gives the same fleet
    #[arg(long, default_value_t = 0, value_parser = count, allow_negative_numbers = true)]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip fleet show fleet.csv
  fedflip fleet new --seed 7 | fedflip fleet show - --json")]
pub(crate) struct FleetShowArgs {
    /// Fleet file (CSV), or - for standard input
    pub fleet: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
