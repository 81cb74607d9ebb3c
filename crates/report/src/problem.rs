//! What could not be read, as sentences that the report shows.

use std::fmt::Display;
use std::path::Path;

use fedflip_fleet::printable;

/// Something that is wrong with a file or folder.
pub(crate) fn about(path: &Path, what: &str) -> String {
    of(&format_args!("{}: {what}", path.display()))
}

/// An error that names its file itself. It may quote a file, or a folder's name.
pub(crate) fn of(error: &impl Display) -> String {
    printable(&error.to_string()).into_owned()
}
