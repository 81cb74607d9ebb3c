//! What may be typed after `scenario`.

use std::path::PathBuf;

use clap::Subcommand;

use fedflip_scenario::Preset;

use super::training::preset_parser;

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioCommand {
    /// Print the paper's scenario of a task as TOML, every default visible and commented
    New(ScenarioNewArgs),
    /// Check a scenario and print it with every default filled in, and how files of your own are shared
    Check(ScenarioCheckArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip scenario new mnist-cnn > scenario.toml
  fedflip scenario new mnist-cnn --preset paper > paper.toml
  fedflip scenario new own --train train.npz --test test.npz --model mlp > own.toml")]
pub(crate) struct ScenarioNewArgs {
    /// synthetic, mnist-cnn, fashion-cnn, cifar10-mobilenet, shakespeare-lstm, or own for files of your own
    pub task: String,
    /// A file of training samples for the task own; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub train: Vec<String>,
    /// A file of test samples for the task own; may be given more than once
    #[arg(long, value_name = "FILE", requires = "train")]
    pub test: Vec<String>,
    /// The model of the task own: softmax, mlp, cnn, mobilenet or lstm; by default one that suits the samples
    #[arg(long, requires = "train")]
    pub model: Option<String>,
    /// What the labels of the task own are: classes (cross-entropy) or numbers (squared-error)
    #[arg(long, requires = "train", value_parser = ["cross-entropy", "squared-error"])]
    pub loss: Option<String>,
    /// The share of the training samples to evaluate on, with or without --test
    #[arg(long, value_name = "SHARE", requires = "train")]
    pub validation: Option<f64>,
    /// Settings of the server, the encoding and the plan
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
    /// A value to take instead of the file's; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}
