//! What may be typed after `man`.

use std::path::PathBuf;

/// Write the manual pages: one for the program, and one for each command.
///
/// Existing pages of the same names are replaced. Other files in the folder stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip man --out ~/.local/share/man/man1
  man fedflip-plan")]
pub(crate) struct ManArgs {
    /// Folder for the pages
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}
