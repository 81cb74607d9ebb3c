//! The arguments of `run`, `pilot`, `compare`, `sweep` and `export`.

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

/// The arguments of every command that trains.
#[derive(Debug, clap::Args)]
pub(crate) struct TrainingArgs {
    /// Save records, checkpoints and models in this folder; without it nothing is saved
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Resume the runs in --out, if there are any
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Write an event file for TensorBoard into the folder of every run
    #[arg(long, requires = "out")]
    pub tensorboard: bool,
    /// Set a key of the scenario to another value; may be given more than once
    #[arg(long, value_name = "SECTION.KEY=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Seed of everything random except the data [default: the scenario's]
    #[arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Number of devices that train at the same time; does not change any result [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub crew: CrewArgs,
    #[command(flatten)]
    pub data: DataDirArgs,
    #[command(flatten)]
    pub dashboard: DashboardArgs,
    /// Print the result as one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Do not print progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// The arguments of the dashboard, a page that shows runs in progress.
#[derive(Debug, clap::Args)]
pub(crate) struct DashboardArgs {
    /// Serve a live page of the runs at HOST:PORT or at a port of this machine; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pub dashboard: Option<String>,
    /// Allow a --dashboard address that other machines can reach: everybody who reaches it may watch
    #[arg(long, requires = "dashboard")]
    pub dashboard_public: bool,
    /// Keep the dashboard open after the last run, until Ctrl-C
    #[arg(long, requires = "dashboard")]
    pub keep_dashboard: bool,
}

/// Train in virtual time until the target, a cap, or Ctrl-C.
///
/// With --out, --resume continues a run that was interrupted or killed. The resumed run gives the same bytes as an
/// undisturbed one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip scenario new mnist-cnn > s.toml
  fedflip run s.toml --out runs/exact
  fedflip run s.toml --out runs/exact --resume
  fedflip run s.toml --dashboard 8080
  fedflip run s.toml --scheme full --set train.learning_rate=0.05
  fedflip run s.toml --scheme file=q.csv --out runs/mine

Exit codes: 0 the run ended, at its target or at a cap; 1 the system failed; 2 the input is
invalid; 3 the model diverged; 4 the run was interrupted (--resume continues it)")]
pub(crate) struct RunArgs {
    /// Scenario file (TOML), or - for standard input
    pub scenario: PathBuf,
    /// Scheme that chooses q; `fedflip plan --help` lists all schemes [default: the scenario's]
    #[arg(long, value_name = "SCHEME")]
    pub scheme: Option<String>,
    #[command(flatten)]
    pub training: TrainingArgs,
}

/// Measure the constants α and β by short runs under uniform and full sampling, over several seeds.
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

/// Run every scheme to the target and compare their times: the paper's Table I.
///
/// Pilots run first, then every scheme with every seed, all under equal settings. Without a scenario, the command
/// compares on synthetic data with the paper's fleet, in less than a minute.
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
    /// Scenario file (TOML), or - for standard input [default: an embedded scenario of synthetic data]
    pub scenario: Option<PathBuf>,
    /// Preset of the settings of the server, the encoding and the plan [default: the scenario's]
    #[arg(long, value_parser = preset_parser())]
    pub preset: Option<Preset>,
    /// Compare under several presets, and split the gain into the part of sampling and the part of other settings
    #[arg(long, value_parser = preset_parser(), value_name = "PRESETS", value_delimiter = ',', num_args = 1.., conflicts_with = "preset")]
    pub presets: Vec<Preset>,
    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// Compare all schemes at every value of a key, such as the speed-up over bandwidth.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip sweep s.toml --over fleet.bandwidth_mbps=100,200,400 --out sweep
  fedflip sweep s.toml --over fleet.bandwidth_mbps=100,200,400 --out sweep --resume
  fedflip sweep --over fleet.devices=50,100 --over world.dropout=0,0.1 --schemes exact,full

Each point is a whole `fedflip compare`, saved in FOLDER/KEY=VALUE. FOLDER/sweep.json summarises all points.")]
pub(crate) struct SweepArgs {
    /// Scenario file (TOML), or - for standard input [default: an embedded scenario of synthetic data]
    pub scenario: Option<PathBuf>,
    /// A key of the scenario and its values; if given more than once, every combination is compared
    #[arg(long, value_name = "SECTION.KEY=VALUES", required = true, allow_hyphen_values = true)]
    pub over: Vec<String>,
    #[command(flatten)]
    pub comparison: ComparisonArgs,
}

/// The arguments of every command that compares schemes.
#[derive(Debug, clap::Args)]
pub(crate) struct ComparisonArgs {
    /// Schemes to compare, separated by commas; table1 stands for the paper's five. Put a name that contains a comma in
    /// double quotes: exact,"file=a,b.csv"
    #[arg(
        long,
        value_name = "SCHEMES",
        default_value = "auto,exact,paper,tight,sampled,weighted,uniform,fixed=0.2,full"
    )]
    pub schemes: Vec<String>,
    /// Number of runs of each scheme; the first has the scenario's seed, the others have the seeds after it
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Scheme that the others are compared with [default: paper, or the first scheme if paper is not among them]
    #[arg(long, value_name = "SCHEME")]
    pub reference: Option<String>,
    /// Stop a run that takes more than FACTOR times the virtual time of the reference; none stops no run
    #[arg(long, value_name = "FACTOR", default_value = "10x", value_parser = give_up, allow_negative_numbers = true)]
    pub give_up: GiveUp,
    /// Plan with the scenario's α and β instead of running pilots
    #[arg(long)]
    pub no_pilot: bool,
    /// Do part I of N of all runs, counted from 0. When all parts are in --out, --resume without --shard compares them
    #[arg(long, value_name = "I/N", requires = "out", value_parser = Shard::from_str)]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub training: TrainingArgs,
}

impl ComparisonArgs {
    /// The study that these arguments describe. Each scheme occurs once.
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

/// The word that `--schemes` accepts for the schemes of the paper's Table I.
const TABLE1_NAME: &str = "table1";

/// The time that a run may take, as a multiple of the reference's; `None` is without limit.
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
        .ok_or_else(|| "write a number from 1 to 1e6, such as 10x, or none".to_owned())
}

/// Export the records of a run as a table, or its curves for TensorBoard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip export runs/exact > rounds.csv
  fedflip export runs/exact --format tensorboard --out events/exact
  fedflip export runs/exact --table participants --format parquet --out participants.parquet")]
pub(crate) struct ExportArgs {
    /// Folder of the run: the --out of `fedflip run`, or a folder in that of `compare` or `sweep`
    pub run: PathBuf,
    /// Table to write [default: rounds]
    #[arg(long, value_enum)]
    pub table: Option<ExportTable>,
    /// Format to write [default: the ending of --out decides, or else csv]
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// File to write; for tensorboard a folder, which is created [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTable {
    /// One row for each round
    Rounds,
    /// One row for each device of each round's cohort
    Participants,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Text that any program reads
    Csv,
    /// Columns for pandas, Polars and DuckDB
    Parquet,
    /// An event file with the curves over rounds
    Tensorboard,
}

/// A parser for the names of presets; clap answers an unknown name with the nearest one.
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
