//! What is in a folder that is not ours: a new run neither replaces it nor spreads its files among it.

use std::path::Path;

use crate::error::{FolderProblem, RecordError};

/// What people and systems have in a folder that is otherwise empty: certificates of the server, scenarios and logs, and the
/// folder that a new disk has. No run writes files of such names, but for `run.toml`, which marks a run.
fn is_harmless(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(std::ffi::OsStr::to_str);
    name.starts_with('.')
        || ["lost+found", "certs"].contains(&name)
        || ending.is_some_and(|ending| ["toml", "log"].contains(&ending))
}

/// The name of something in the folder that keeps a new run out; none in a folder that does not exist. Whatever `is_ours`
/// knows may be there.
pub fn found_in(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // The first in the alphabet, so that the same folder is refused with the same words.
    names.filter(|name| !is_harmless(name) && !is_ours(name)).min()
}

/// Refuses a folder that something else keeps a new run out of.
pub fn refuse(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Result<(), RecordError> {
    let refusal = |found| Err(RecordError::folder(folder, FolderProblem::Others { found }));
    found_in(folder, is_ours).map_or(Ok(()), refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_of_somebody_else_is_told_from_one_that_is_free() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        assert_eq!(found_in(&at("missing"), |_| false), None);
        assert_eq!(found_in(desk.path(), |_| false), None);
        for name in [".gitignore", "scenario.toml", "train.log"] {
            fs::write(at(name), "").unwrap();
        }
        for name in ["certs", "lost+found"] {
            fs::create_dir(at(name)).unwrap();
        }
        assert_eq!(found_in(desk.path(), |_| false), None);
        fs::write(at("notes.txt"), "").unwrap();
        fs::write(at("fleet.csv"), "").unwrap();
        assert_eq!(found_in(desk.path(), |_| false).as_deref(), Some("fleet.csv"));
        assert_eq!(found_in(desk.path(), |name| name == "fleet.csv").as_deref(), Some("notes.txt"));
    }
}
