//! The arguments of `bench`.

use clap::ValueEnum;

use super::number;

/// Measure how fast this machine trains: client updates per second, one client per thread.
///
/// A client update is 10 steps of SGD on batches of 32. Each model is measured in its own process.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip bench --threads 2 --model mnist-cnn --model shakespeare-lstm")]
pub(crate) struct BenchArgs {
    /// Number of clients that train at the same time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Measure only this model; may be given more than once
    #[arg(long, value_name = "NAME", value_enum)]
    pub model: Vec<BenchModel>,
    /// Measure each model for at least this time, in seconds
    #[arg(long, value_name = "SECS", default_value_t = 3.0, value_parser = number, allow_negative_numbers = true)]
    pub secs: f64,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchModel {
    /// The CNN of the paper's MNIST experiment: 21,840 parameters
    MnistCnn,
    /// The CNN of McMahan et al.: 1.66 million parameters
    MnistCnnWide,
    /// MobileNet v1 of width 1.0 with group normalisation
    Cifar10Mobilenet,
    /// The LSTM for the next character: 819,920 parameters
    ShakespeareLstm,
}
