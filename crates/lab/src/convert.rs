//! `convert`: run folders of format version 1, as programs up to commit e60d675 wrote them, in format version 3.
//!
//! Only words change place: every number of the records is kept to its last digit, and a line in which anything would
//! be lost is refused. Folders of version 3 are left as they are, so that a conversion that was interrupted is simply
//! run again.
//!
//! - [`records`]: the lines of `records.jsonl`.
//! - [`scenario`]: the keys of `run.toml`.
//! - [`archive`]: folders that are packed in a `records.tar.gz`.

mod archive;
mod records;
mod scenario;

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_record::{atomic, folder};

use crate::error::LabError;
use crate::files;

/// What packed runs are called below `experiments/`.
pub(crate) const ARCHIVE: &str = "records.tar.gz";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// A run folder, a folder of run folders, or an archive of them that is called records.tar.gz.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// How many runs there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    converted: usize,
    /// Of version 3 before.
    kept: usize,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.converted += other.converted;
        self.kept += other.kept;
    }
}

pub(crate) fn run(options: &Options) -> Result<(), LabError> {
    for path in &options.paths {
        let Found { converted, kept } = convert(path)?;
        let shown = path.display();
        if converted + kept == 0 {
            return Err(LabError::Usage(format!("{shown}: has no run folder and no {ARCHIVE}")));
        }
        println!("{shown}: {converted} runs converted, {kept} runs were of version 3 before");
    }
    Ok(())
}

fn convert(path: &Path) -> Result<Found, LabError> {
    if fs::metadata(path).map_err(failed(path))?.is_file() {
        return archive::convert(path);
    }
    let mut found = Found::default();
    if path.join(folder::RECORDS).is_file() {
        found.add(convert_run(path)?);
    }
    let mut inside = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        let entry = entry.map_err(failed(path))?;
        let kind = entry.file_type().map_err(failed(path))?;
        if kind.is_dir() || (kind.is_file() && entry.file_name() == ARCHIVE) {
            inside.push(entry.path());
        }
    }
    inside.sort();
    for path in inside {
        found.add(convert(&path)?);
    }
    Ok(found)
}

fn convert_run(run: &Path) -> Result<Found, LabError> {
    let [toml, jsonl] = [folder::RUN, folder::RECORDS].map(|name| run.join(name));
    let shown = jsonl.display().to_string();
    let before = files::read(&jsonl)?;
    if !records::is_version_1(&before, &shown)? {
        return Ok(Found { kept: 1, ..Found::default() });
    }
    let _lock = folder::lock(run).map_err(|error| LabError::Answer(error.to_string()))?;
    let records = records::converted(&before, &shown)?;
    if !records.ended && run.join("checkpoint").exists() {
        return Err(LabError::Refused(format!(
            "{}: the run has not ended and its checkpoint is of version 1; let the program that began the run end it, \
             or delete the checkpoint",
            run.display()
        )));
    }
    let scenario = scenario::converted(&files::read(&toml)?, &toml)?;
    // The records say which version the folder has, so they come last.
    for (path, text) in [(&toml, &scenario), (&jsonl, &records.text)] {
        atomic::write(path, text.as_bytes()).map_err(|error| LabError::Answer(error.to_string()))?;
    }
    Ok(Found { converted: 1, ..Found::default() })
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> LabError {
    move |source| LabError::File { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests;
