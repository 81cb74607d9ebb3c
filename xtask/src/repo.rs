//! Where things are: the work tree, the tools folder, and how children get to see them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::error::TaskError;

/// The work tree this program was built from.
#[derive(Debug, Clone)]
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The work tree that holds this `xtask`, whatever folder the task was called from.
    pub(crate) fn here() -> Self {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: xtask.parent().unwrap_or(xtask).to_path_buf() }
    }

    /// Another checkout, relative to the folder that the task was called from.
    pub(crate) fn at(folder: &str) -> Self {
        Self { root: PathBuf::from(folder) }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where installed tools live. Inside the work tree, so that a machine's own set-up is never
    /// changed and one `rm -r` undoes it; ignored by git. Several checkouts can share a folder
    /// that `FEDFLIP_TOOLS` names.
    pub(crate) fn tools(&self) -> PathBuf {
        let chosen = env::var_os("FEDFLIP_TOOLS").filter(|folder| !folder.is_empty());
        self.root.join(chosen.unwrap_or_else(|| ".tools".into()))
    }

    /// The folder in which cargo builds.
    pub(crate) fn target(&self) -> PathBuf {
        let chosen = env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty());
        self.root.join(chosen.unwrap_or_else(|| "target".into()))
    }

    /// The `PATH` for children: our pinned tools come before the machine's.
    pub(crate) fn search_path(&self) -> OsString {
        let mut folders = vec![self.tools().join("bin")];
        if let Some(inherited) = env::var_os("PATH") {
            folders.extend(env::split_paths(&inherited));
        }
        // Only a folder with a separator in its name cannot be joined; the inherited path is then
        // still the better answer than none.
        env::join_paths(folders).unwrap_or_else(|_| env::var_os("PATH").unwrap_or_default())
    }

    /// Whether children should colour what they print: what the user chose, or else only for a
    /// person at a terminal.
    pub(crate) fn colour(&self) -> OsString {
        if let Some(chosen) = env::var_os("CARGO_TERM_COLOR") {
            return chosen;
        }
        let person = std::io::stdout().is_terminal() && !on_ci();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if person && !plain { "always" } else { "never" }.into()
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String, TaskError> {
        let path = self.path(relative);
        fs::read_to_string(&path).map_err(|source| TaskError::File { path, source })
    }
}

/// Whether this runs unattended, by the convention that every CI service keeps.
pub(crate) fn on_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_workspace() {
        assert!(Repo::here().path("xtask/Cargo.toml").is_file());
    }

    #[test]
    fn pinned_tools_come_before_those_of_the_machine() {
        let repo = Repo::here();
        let path = repo.search_path();
        let first = env::split_paths(&path).next();
        assert_eq!(first, Some(repo.tools().join("bin")));
    }
}
