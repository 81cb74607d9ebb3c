//! The arguments of `scenario`.

use std::path::PathBuf;

use clap::Subcommand;

use fedflip_scenario::Preset;

use super::training::preset_parser;

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Print the paper's scenario of a task as TOML, with a comment for every key
    New(ScenarioNewArgs),
    /// Check a scenario, print it with every default, and show how your own files are shared
    Check(ScenarioCheckArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip scenario new mnist-cnn > scenario.toml
  fedflip scenario new mnist-cnn --preset paper > paper.toml
  fedflip scenario new own --train train.npz --test test.npz --model mlp > own.toml")]
pub(crate) struct ScenarioNewArgs {
    /// Name of the task: synthetic, mnist-cnn, fashion-cnn, cifar10-mobilenet, shakespeare-lstm, or own for files of your own
    pub task: String,
    /// File of training samples, for the task own; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub train: Vec<String>,
    /// File of test samples, for the task own; may be given more than once
    #[arg(long, value_name = "FILE", requires = "train")]
    pub test: Vec<String>,
    /// Model of the task own: softmax, mlp, cnn, mobilenet or lstm [default: one that suits the samples]
    #[arg(long, requires = "train")]
    pub model: Option<String>,
    /// Loss of the task own: cross-entropy if labels are classes, squared-error if they are numbers
    #[arg(long, requires = "train", value_parser = ["cross-entropy", "squared-error"])]
    pub loss: Option<String>,
    /// Evaluate on this share of the training samples, with or without --test
    #[arg(long, value_name = "SHARE", requires = "train")]
    pub validation: Option<f64>,
    /// Preset of the settings of the server, the encoding and the plan
    #[arg(long, default_value = Preset::default().name(), value_parser = preset_parser())]
    pub preset: Preset,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip scenario check scenario.toml --set train.learning_rate=0.05 --set plan.scheme=tight")]
pub(crate) struct ScenarioCheckArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    /// Set a key of the scenario to another value; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
