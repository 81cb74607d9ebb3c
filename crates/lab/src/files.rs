//! Files whose errors name their path, and JSON of the program under test.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::LabError;

pub(crate) fn read(path: &Path) -> Result<String, LabError> {
    fs::read_to_string(path).map_err(|source| LabError::File { path: path.to_path_buf(), source })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text).map_err(|source| LabError::File { path: path.to_path_buf(), source })
}

pub(crate) fn create_folder(path: &Path) -> Result<(), LabError> {
    fs::create_dir_all(path).map_err(|source| LabError::File { path: path.to_path_buf(), source })
}

/// Removes a folder with all that it holds; there may be none.
pub(crate) fn remove_folder(path: &Path) -> Result<(), LabError> {
    if !path.exists() {
        return Ok(());
    }
    fs::remove_dir_all(path).map_err(|source| LabError::File { path: path.to_path_buf(), source })
}

/// The JSON value that a program printed or wrote; `origin` names the program or the file.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, LabError> {
    serde_json::from_str(text).map_err(|error| LabError::Answer(format!("{origin}: {error}")))
}

/// What the lines of a log or of records hold, where they are JSON of this form.
pub(crate) fn json_lines<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = T> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}
