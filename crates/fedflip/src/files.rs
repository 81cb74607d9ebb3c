//! Files that a user names: never one of a run, and never the one that is read.

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_record::folder;

use crate::error::CliError;

/// Refuses to replace a file of a run folder: the run could not be resumed.
pub(crate) fn check_no_run(out: &Path) -> Result<(), CliError> {
    if folder::is_of_run(&resolved(out)) {
        return Err(CliError::usage(
            "--out: this would replace a file of a run folder",
            "name a file or a folder outside of the run's own folder",
        ));
    }
    Ok(())
}

/// Refuses to replace the file that the command reads.
pub(crate) fn check_not_input(out: &Path, input: &Path) -> Result<(), CliError> {
    if input.is_file() && resolved(out) == resolved(input) {
        return Err(CliError::usage(
            format!("--out: this would replace {}, from which the command reads", input.display()),
            "name another file",
        ));
    }
    Ok(())
}

/// A file without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let beside = |folder: &Path| Some(fs::canonicalize(folder).ok()?.join(path.file_name()?));
    let folder = || path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(path).ok().or_else(|| beside(folder())).unwrap_or_else(|| path.to_owned())
}
