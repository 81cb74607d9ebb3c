//! What may be typed after `run`, `pilot`, `compare`, `sweep` and `export`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fedflip_plan::Scheme;
use fedflip_run::shard::{Part, Shard};
use fedflip_run::study::{REFERENCE, Study, TABLE1};
use fedflip_scenario::Preset;

use super::{CrewArgs, DataDirArgs};
use crate::error::CliError;
use crate::settings::scheme;

/// What all commands that train have in common.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainingArgs {
    /// Folder for records, checkpoints and models; without it nothing is kept
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Resume what is in --out, if there is anything
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Write an event file for TensorBoard into the folder of every run
    #[arg(long, requires = "out")]
    pub tensorboard: bool,
    /// A value to take instead of the scenario's; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Seed of everything that chance decides but for the data (by default the scenario's)
    #[arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Devices that train at the same time (by default one per processor); does not change any result
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub crew: CrewArgs,
    #[command(flatten)]
    pub data: DataDirArgs,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print one JSON object with the result instead
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// A page that shows runs as they go.
#[derive(Debug, clap::Args)]
pub(crate) struct DashboardArgs {
    /// Show the runs in a browser as they go, at HOST:PORT or a port of this machine; 0 is any that is free
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pub dashboard: Option<String>,
    /// Allow a --dashboard address that other machines can reach: whoever can reach it may watch
    #[arg(long, requires = "dashboard")]
    pub dashboard_public: bool,
    /// Keep the dashboard when the work is done, until Ctrl-C
    #[arg(long, requires = "dashboard")]
    pub keep_dashboard: bool,
}

/// Train in virtual time until the target, a cap, or Ctrl-C.
///
/// What was recorded is kept: --resume continues a run that was interrupted or killed, to the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip scenario new mnist-cnn > s.toml
  fedflip run s.toml --out runs/exact
  fedflip run s.toml --out runs/exact --resume
  fedflip run s.toml --dashboard 8080
  fedflip run s.toml --scheme full --set train.learning_rate=0.05
  fedflip run s.toml --scheme file=q.csv --out runs/mine

Exit codes: 0 ended, at its target or at a cap; 1 the system failed it; 2 bad input; 3 the model diverged;
4 stopped before its end; --resume continues")]
pub(crate) struct RunArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    /// How q is chosen (by default as the scenario says); `fedflip plan --help` lists the schemes
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    #[command(flatten)]
    pub training: TrainingArgs,
}

/// Measure α and β: short runs under uniform and full sampling, over several seeds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip pilot s.toml
  fedflip pilot s.toml --set pilot.loss=0.8 --set pilot.seeds=5 --json")]
pub(crate) struct PilotArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    #[command(flatten)]
    pub training: TrainingArgs,
}

/// Run every scheme to the target and say how long each takes: the paper's Table I.
///
/// First the pilots, then every scheme with every seed, all under equal settings. Without a scenario: synthetic data
/// and the paper's fleet, in less than a minute.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip compare
  fedflip compare s.toml --seeds 5 --out comparison
  fedflip compare s.toml --seeds 5 --out comparison --resume
  fedflip compare --dashboard 8080 --keep-dashboard
  fedflip compare s.toml --schemes table1 --preset paper
  fedflip compare s.toml --out comparison --shard 0/3
  fedflip compare s.toml --presets paper,tuned --reference weighted
  fedflip compare s.toml --schemes exact,paper,fixed=0.1 --give-up none
  fedflip compare s.toml --schemes exact,file=a.csv,file=b.csv")]
pub(crate) struct CompareArgs {
    /// Scenario file (TOML), or - for standard input; without it the embedded default
    pub scenario: Option<PathBuf>,
    /// Settings of the server, the encoding and the plan (by default as the scenario says)
    #[arg(long, value_parser = preset_parser())]
    pub preset: Option<Preset>,
    /// Compare under several presets, and split the gain into what sampling gives and what the rest gives
    #[arg(long, value_parser = preset_parser(), value_name = "PRESETS", value_delimiter = ',', num_args = 1.., conflicts_with = "preset")]
    pub presets: Vec<Preset>,
    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// Compare all schemes at every value of a key: speed-up against bandwidth, and the like.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip sweep s.toml --over fleet.bandwidth_mbps=100,200,400 --out sweep
  fedflip sweep s.toml --over fleet.bandwidth_mbps=100,200,400 --out sweep --resume
  fedflip sweep --over fleet.devices=50,100 --over world.dropout=0,0.1 --schemes exact,full

Each point is a whole `fedflip compare`, kept in FOLDER/KEY=VALUE; FOLDER/sweep.json has all of them.")]
pub(crate) struct SweepArgs {
    /// Scenario file (TOML), or - for standard input; without it the embedded default
    pub scenario: Option<PathBuf>,
    /// A key of the scenario and the values that it takes; given more than once, in every combination
    #[arg(long, value_name = "SECTION.KEY=VALUES", required = true, allow_hyphen_values = true)]
    pub over: Vec<String>,
    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// How schemes are compared.
#[derive(Debug, clap::Args)]
pub(crate) struct ComparisonArgs {
    /// Which schemes, separated by commas; table1 stands for the paper's five. A name with a comma stands in double
    /// quotes: exact,"file=a,b.csv"
    #[arg(
        long,
        value_name = "SCHEMES",
        default_value = "auto,exact,paper,tight,sampled,weighted,uniform,fixed=0.2,full"
    )]
    pub schemes: Vec<String>,
    /// Runs of each scheme, with the scenario's seed and those after it
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// The scheme that ratios are to (by default paper, or the first one where paper is not compared)
    #[arg(long, value_name = "SCHEME")]
    pub reference: Option<String>,
    /// Stop a run that takes more than FACTOR times the hours of the reference; none stops no run
    #[arg(long, value_name = "FACTOR", default_value = "10x", value_parser = give_up, allow_negative_numbers = true)]
    pub give_up: GiveUp,
    /// Plan with the scenario's α and β, without pilots
    #[arg(long)]
    pub no_pilot: bool,
    /// Do part I of N of all runs, counted from 0; once all parts are in --out, --resume without --shard compares them
    #[arg(long, value_name = "I/N", requires = "out", value_parser = Shard::from_str)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub training: TrainingArgs,
}

impl ComparisonArgs {
    /// How to compare, with each scheme once.
    pub(crate) fn study(&self) -> Result<Study, CliError> {
        let mut schemes: Vec<Scheme> = Vec::new();
        for name in self.schemes.iter().flat_map(|list| names_of(list)) {
            let name = name.trim();
            let named = if name == TABLE1_NAME { TABLE1.to_vec() } else { vec![scheme(name)?] };
            for scheme in named {
                if !schemes.contains(&scheme) {
                    schemes.push(scheme);
                }
            }
        }
        let reference = match &self.reference {
            Some(name) => scheme(name)?,
            None => schemes.iter().find(|scheme| **scheme == REFERENCE).unwrap_or(&schemes[0]).clone(),
        };
        if !schemes.contains(&reference) {
            return Err(CliError::usage(
                format!("--reference: {reference} is not one of the schemes that are compared"),
                format!("add {reference} to --schemes"),
            ));
        }
        let GiveUp(give_up) = self.give_up;
        let part = self.shard.map(|shard| Part { shard, first: 0 });
        Ok(Study { schemes, reference, seeds: self.seeds, give_up, no_pilot: self.no_pilot, part })
    }
}

/// The names in a list with commas between them. A comma within double quotes is part of a name.
fn names_of(list: &str) -> Vec<String> {
    let (mut names, mut is_quoted) = (vec![String::new()], false);
    for character in list.chars() {
        match (character, names.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (',', _) if !is_quoted => names.push(String::new()),
            (character, Some(name)) => name.push(character),
            (_, None) => {}
        }
    }
    names
}

/// What `--schemes` takes for the schemes of the paper's Table I.
const TABLE1_NAME: &str = "table1";

/// How many times the reference's hours a run may take; none is without limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GiveUp(Option<f64>);

fn give_up(text: &str) -> Result<GiveUp, String> {
    if text == "none" {
        return Ok(GiveUp(None));
    }
    let number = text.strip_suffix(['x', '×']).unwrap_or(text).parse::<f64>();
    number
        .ok()
        .filter(|factor| (1.0..=1e6).contains(factor))
        .map(|factor| GiveUp(Some(factor)))
        .ok_or_else(|| "a number from 1 to 1e6, such as 10x, or none".to_owned())
}

/// Write a run's records as a table, or its curves for TensorBoard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip export runs/exact > rounds.csv
  fedflip export runs/exact --format tensorboard --out events/exact
  fedflip export runs/exact --table participants --format parquet --out participants.parquet")]
pub(crate) struct ExportArgs {
    /// Folder of a run
    pub run: PathBuf,
    /// Which table (by default rounds)
    #[arg(long, value_enum)]
    pub table: Option<ExportTable>,
    /// As what (by default as --out is named, or CSV)
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// File to write (by default standard output); for tensorboard a folder, which is made
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// A row a round
    Rounds,
    /// A row for each device in each round that it took part in
    Participants,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Text, for anything
    Csv,
    /// For pandas, Polars and DuckDB
    Parquet,
    /// The curves of the rounds, as an event file
    Tensorboard,
}

/// The names of presets; clap answers others with the nearest one.
pub(super) fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    let names = Preset::ALL.map(|(name, preset)| PossibleValue::new(name).help(preset.about()));
    PossibleValuesParser::new(names).map(|name| {
        let named = Preset::ALL.into_iter().find(|(known, _)| *known == name);
        named.map_or_else(Preset::default, |(_, preset)| preset)
    })
}

#[cfg(test)]
mod tests {
    use super::names_of;

    #[test]
    fn a_comma_in_quotes_is_part_of_a_name() {
        assert_eq!(names_of("exact,\"file=a,b.csv\",full"), ["exact", "file=a,b.csv", "full"]);
        assert_eq!(names_of("file=\"a,b.csv\""), ["file=a,b.csv"]);
    }
}
