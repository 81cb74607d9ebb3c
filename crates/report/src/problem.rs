//! What could not be read, as a sentence that the report shows.

use std::fmt;
use std::path::Path;

use fedflip_fleet::printable;

/// Something that is missing from the report, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    sentence: String,
}

impl Problem {
    /// About a file or folder.
    pub(crate) fn new(path: &Path, what: &str) -> Self {
        Self::of(&format_args!("{}: {what}", path.display()))
    }

    /// An error that names its file itself.
    pub(crate) fn of(error: &impl fmt::Display) -> Self {
        // It may quote a file, or a folder's name.
        Self { sentence: printable(&error.to_string()).into_owned() }
    }

    pub(crate) fn and(mut self, more: &str) -> Self {
        self.sentence += more;
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}
