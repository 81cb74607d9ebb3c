//! The arguments of `report`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fedflip_report::{FORMATS, Format, GivenTarget};

/// Report on runs: one page with tables and figures, or single files for a paper.
///
/// The command reads only records, of finished runs and of runs in progress. Runs that differ only in scheme and seed are
/// compared with each other. Runs that also differ in other keys are shown side by side, as a sweep.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip report comparison
  fedflip report comparison --out comparison.html --title 'CNN on MNIST'
  fedflip report comparison --format pdf --out figures
  fedflip report comparison --format latex --out tables
  fedflip report comparison --format md
  fedflip report comparison --reference weighted
  fedflip report comparison --target loss=0.5
  fedflip report at-100 at-200 at-400 --format csv --out tables
  fedflip report runs/exact --round 17")]
pub(crate) struct ReportArgs {
    /// Folder with runs: the --out of run, pilot, compare, sweep or serve, or any folder above
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// File to write, or folder for formats of several files [default: report.html, figures or tables; md, text and
    /// json go to standard output]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Format of the report
    #[arg(long, default_value = FORMATS[0].name, value_parser = format_parser())]
    pub format: &'static Format,
    /// Write JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Round to show as a timeline [default: the fullest, the longest and the last one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub round: Option<u64>,
    /// Target to report times to, instead of the runs' own; each run is shown until it reaches the target
    #[arg(long, value_name = "METRIC=VALUE")]
    pub target: Option<GivenTarget>,
    /// Title of the report
    #[arg(long)]
    pub title: Option<String>,
    /// Scheme that the others are compared with [default: paper, if there are runs of it; in a sweep full]
    #[arg(long, value_name = "SCHEME")]
    pub reference: Option<String>,
    /// Do not list the files that were written
    #[arg(long, short)]
    pub quiet: bool,
}

/// A parser for the names of [`FORMATS`]; clap answers an unknown name with the nearest one.
fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS
        .iter()
        .map(|format| PossibleValue::new(format.name).alias(format.extension).help(format.about));
    let format = |name: &str| Format::named(name).or_else(|| Format::of_extension(name));
    PossibleValuesParser::new(names).map(move |name| format(&name).unwrap_or(&FORMATS[0]))
}
