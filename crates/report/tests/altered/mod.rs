//! Folders that somebody has been at, and what a report says of them.

use std::fs;
use std::path::Path;

use fedflip_report::Collection;

/// Changes a run's file as a hostile or careless hand would.
pub(crate) fn alter(folder: &Path, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(from), "{file}: {from}");
    fs::write(folder.join(file), text.replace(from, to)).unwrap();
}

pub(crate) fn problems(collection: &Collection) -> Vec<String> {
    collection.problems.iter().map(ToString::to_string).collect()
}
