//! `SHA256SUMS`: the checksum of every file of a release, as `sha256sum --check` reads it.

use std::path::Path;

use super::{names_in, write};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

pub(super) const NAME: &str = "SHA256SUMS";

pub(super) fn make(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    let names = names_in(folder)?.into_iter().filter(|name| name != NAME);
    let sums = Cmd::new("sha256sum").args(names).inside(folder).output(repo)?;
    write(&folder.join(NAME), &sums)
}

/// Fails unless every file but the list itself is in it, with the sum that it has.
pub(super) fn check(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    Cmd::words("sha256sum --check --strict --quiet").arg(NAME).inside(folder).run(repo)?;
    let sums = std::fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    let listed =
        |name: &String| sums.lines().any(|line| line.split_once("  ").is_some_and(|(_, file)| file == name));
    match names_in(folder)?.iter().find(|name| *name != NAME && !listed(name)) {
        Some(lost) => Err(TaskError::Answer(format!("{NAME} does not have {lost}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheel::empty;

    #[test]
    fn a_changed_and_an_added_file_are_noticed() {
        let repo = Repo::here();
        let folder = repo.target().join("test-checksums");
        empty(&folder).unwrap();
        write(&folder.join("a.txt"), "one").unwrap();
        make(&repo, &folder).unwrap();
        check(&repo, &folder).unwrap();
        write(&folder.join("b.txt"), "two").unwrap();
        assert!(check(&repo, &folder).unwrap_err().to_string().contains("b.txt"));
        make(&repo, &folder).unwrap();
        write(&folder.join("a.txt"), "other").unwrap();
        assert!(check(&repo, &folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
