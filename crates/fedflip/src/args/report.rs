//! What may be typed after `report`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Make runs visible: one page with tables and figures, or single ones for a paper.
///
/// Reads records alone, of runs that are over or still going on. Runs that differ in scheme and seed only are
/// compared with each other; those that differ in something else stand side by side, as a sweep.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip report comparison
  fedflip report comparison --out comparison.html --title 'CNN on MNIST'
  fedflip report comparison --format svg --out figures
  fedflip report comparison --format md
  fedflip report at-100 at-200 at-400 --format csv --out tables
  fedflip report runs/exact --round 17")]
pub(crate) struct ReportArgs {
    /// What --out was in run, pilot, compare or sweep, or any folder above
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// File or, for svg, png and csv, folder to write [default: report.html, figures or tables; md and json go to
    /// standard output]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// As what
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub format: ReportFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// A round to show as a timeline (by default those that are worth it)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub round: Option<u64>,
    /// Of the page
    #[arg(long)]
    pub title: Option<String>,
    /// Do not say which files were written
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One page that needs nothing else
    Html,
    /// A file a figure, for papers
    Svg,
    /// A file a figure, in pixels
    Png,
    /// All tables as Markdown
    Md,
    /// A file a table, and the numbers behind the figures
    Csv,
    /// All tables as one JSON object
    Json,
}
