//! The files that the rules look at: those git tracks, or would track, and that hold text.

use std::collections::BTreeMap;
use std::fs;

use super::reach;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::source::is_test_file;

/// Text files by their path from the root, with `/` between folders.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the work tree. New files count before they are added, so that a rule speaks up while
    /// the work is fresh; what git ignores does not exist here.
    pub(crate) fn load(repo: &Repo) -> Result<Self, TaskError> {
        let listing = Cmd::words("git ls-files -z --cached --others --exclude-standard").output(repo)?;
        let mut tree = Self::default();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            let full = repo.path(path);
            // Deleted but not yet committed, or a link to a folder.
            if !full.is_file() {
                continue;
            }
            let bytes = fs::read(&full).map_err(|source| TaskError::File { path: full, source })?;
            // Test data may be anything; the rules are about text.
            if let Ok(text) = String::from_utf8(bytes) {
                tree.files.insert(path.to_owned(), text);
            }
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { files: files.iter().map(own).collect() }
    }

    pub(crate) fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The Rust files of the workspace.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The sources of the packages, without files that hold tests alone.
    pub(crate) fn production(&self) -> impl Iterator<Item = (&str, &str)> {
        let folders: Vec<String> = self.packages().map(|package| format!("{package}/src/")).collect();
        let tests: Vec<String> =
            folders.iter().flat_map(|sources| reach::test_modules(self, sources)).collect();
        self.rust().filter(move |(path, _)| {
            !is_test_file(path)
                && !tests.iter().any(|test| test == path)
                && folders.iter().any(|folder| path.starts_with(folder.as_str()))
        })
    }

    /// The folders of the workspace's packages: `crates/*`, and `xtask`.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|path| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let is_member = match folder.strip_prefix("crates/") {
                Some(name) => !name.contains('/'),
                None => folder == "xtask",
            };
            is_member.then_some(folder)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_the_members_and_nothing_deeper() {
        let tree = Tree::of(&[
            ("Cargo.toml", ""),
            ("crates/plan/Cargo.toml", ""),
            ("crates/plan/tests/toy/Cargo.toml", ""),
            ("xtask/Cargo.toml", ""),
        ]);
        let packages: Vec<&str> = tree.packages().collect();
        assert_eq!(packages, ["crates/plan", "xtask"]);
    }

    #[test]
    fn the_real_tree_holds_this_file() {
        let tree = Tree::load(&Repo::here()).unwrap();
        assert!(tree.text("xtask/src/tidy/tree.rs").is_some());
        assert!(tree.text("target/CACHEDIR.TAG").is_none());
    }
}
