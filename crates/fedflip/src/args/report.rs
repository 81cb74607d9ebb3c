//! What may be typed after `report`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fedflip_report::{FORMATS, Format};

/// Show runs: one page with tables and figures, or single files for a paper.
///
/// Reads records alone, of runs that have ended or are still running. Runs that differ in scheme and seed only are
/// compared with each other; runs that differ in something else stand side by side, as a sweep.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip report comparison
  fedflip report comparison --out comparison.html --title 'CNN on MNIST'
  fedflip report comparison --format pdf --out figures
  fedflip report comparison --format latex --out tables
  fedflip report comparison --format md
  fedflip report comparison --reference weighted
  fedflip report at-100 at-200 at-400 --format csv --out tables
  fedflip report runs/exact --round 17")]
pub(crate) struct ReportArgs {
    /// Folder that was --out of run, pilot, compare or sweep, or any folder above
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// File to write, or folder for formats of several files [default: report.html, figures or tables; md, text and
    /// json go to standard output]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Format to write
    #[arg(long, default_value = FORMATS[0].name, value_parser = format_parser())]
    pub format: &'static Format,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Round to show as a timeline [default: the fullest, the longest and the last one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub round: Option<u64>,
    /// Title of the report
    #[arg(long)]
    pub title: Option<String>,
    /// Scheme that ratios and, in a sweep, speed-ups are to [default: paper, if it was run; in a sweep full]
    #[arg(long, value_name = "SCHEME")]
    pub reference: Option<String>,
    /// Do not list the files that were written
    #[arg(long, short)]
    pub quiet: bool,
}

/// The names of [`FORMATS`]; clap answers others with the nearest one.
fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names).map(|name| Format::named(&name).unwrap_or(&FORMATS[0]))
}
