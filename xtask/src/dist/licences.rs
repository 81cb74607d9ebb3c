//! The terms of everything that is built into the programs: the texts in the packages of the crates, each text once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use super::build::cargo_home;
use super::{PROGRAMS, Target};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::wheel::file_error;

/// The terms of works that are no crates: scripts of the dashboard, and the font of the reports.
const VENDORED: [&str; 2] =
    ["crates/dashboard/assets/vendor/uplot/LICENSE", "crates/report/assets/font/LICENSE"];

/// What the files with terms are called, without their endings.
const NAMES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

const OPENING: &str = "\
fedflip itself is under MIT or Apache-2.0, see LICENSE-MIT and LICENSE-APACHE. The programs also hold the works below, the
standard library of Rust (MIT or Apache-2.0) and musl (MIT).
";

/// A crate that is linked, as `cargo tree` names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Linked {
    pub(super) name: String,
    pub(super) version: String,
    /// The expression of its manifest.
    terms: String,
    /// Part of this repository.
    pub(super) is_ours: bool,
}

impl Linked {
    /// `rand v0.10.0|MIT`, perhaps with a folder or `(proc-macro)` behind the version.
    fn parse(line: &str) -> Option<Self> {
        let (package, terms) = line.split_once('|')?;
        let mut words = package.split_whitespace();
        let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
        let is_ours = words.any(|word| word.starts_with("(/"));
        let terms = terms.trim_end_matches("(*)").trim().to_owned();
        Some(Self { name, version, terms, is_ours })
    }
}

/// All crates that are linked into a package for a target.
pub(super) fn linked(repo: &Repo, package: &str, target: &str) -> Result<BTreeSet<Linked>, TaskError> {
    let tree = Cmd::words("cargo tree --locked --edges normal --prefix none --format {p}|{l}")
        .args(["--package", package, "--target", target])
        .output(repo)?;
    let crates: BTreeSet<Linked> = tree.lines().filter_map(Linked::parse).collect();
    if crates.len() < 2 {
        return Err(TaskError::Answer(format!("`cargo tree` names no crates in {package}:\n{tree}")));
    }
    Ok(crates)
}

/// The text of the file.
pub(super) fn text(repo: &Repo, target: &Target) -> Result<String, TaskError> {
    let mut crates = BTreeSet::new();
    for program in PROGRAMS.iter().filter(|program| program.target.rust == target.rust) {
        crates.extend(linked(repo, program.package, target.rust)?.into_iter().filter(|one| !one.is_ours));
    }
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for one in &crates {
        let found = texts_of(one)?;
        let label = format!("{} {} ({})", one.name, one.version, one.terms);
        if found.is_empty() {
            without.push(label.clone());
        }
        for text in found {
            texts.entry(text).or_default().push(label.clone());
        }
    }
    for path in VENDORED {
        texts.entry(repo.read(path)?.trim().to_owned()).or_default().push(path.to_owned());
    }
    Ok(document(texts, &without))
}

/// One text after the other, under the names of the works that include it.
fn document(texts: BTreeMap<String, Vec<String>>, without: &[String]) -> String {
    let mut all = OPENING.to_owned();
    if !without.is_empty() {
        let _ = write!(all, "\nThese crates include no text; their manifests name the terms:\n\n");
        without.iter().for_each(|label| all.extend(["  ", label, "\n"]));
    }
    let mut blocks: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, labels)| (labels, text)).collect();
    blocks.sort();
    for (labels, text) in blocks {
        let _ = write!(all, "\n{}\n", "=".repeat(80));
        labels.iter().for_each(|label| all.extend(["  ", label, "\n"]));
        let _ = write!(all, "{}\n\n{text}\n", "=".repeat(80));
    }
    all
}

/// The texts in the package of a crate.
fn texts_of(one: &Linked) -> Result<Vec<String>, TaskError> {
    let mut texts = Vec::new();
    for folder in source_folders(one)? {
        for entry in fs::read_dir(&folder).map_err(|source| file_error(&folder, source))?.flatten() {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let path = entry.path();
            if NAMES.iter().any(|start| name.starts_with(start)) && path.is_file() && !name.ends_with(".rs") {
                let bytes = fs::read(&path).map_err(|source| file_error(&path, source))?;
                texts.push(String::from_utf8_lossy(&bytes).replace('\r', "").trim().to_owned());
            }
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// Where the sources of a crate are: one folder for each registry that has it.
fn source_folders(one: &Linked) -> Result<Vec<PathBuf>, TaskError> {
    let registries = cargo_home().join("registry/src");
    let entries = fs::read_dir(&registries).map_err(|source| file_error(&registries, source))?;
    let name = format!("{}-{}", one.name, one.version);
    let folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path().join(&name)).filter(|path| path.is_dir()).collect();
    if folders.is_empty() {
        let message = format!("the sources of {name} are not below {}", registries.display());
        return Err(TaskError::Answer(message));
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree_are_read_in_all_their_forms() {
        let rand = Linked::parse("rand v0.10.0|MIT OR Apache-2.0").unwrap();
        assert_eq!((rand.name.as_str(), rand.version.as_str(), rand.is_ours), ("rand", "0.10.0", false));
        assert_eq!(rand, Linked::parse("rand v0.10.0|MIT OR Apache-2.0 (*)").unwrap());
        assert!(Linked::parse("fedflip v0.1.0 (/a/crates/fedflip)|MIT").unwrap().is_ours);
        assert!(!Linked::parse("derive v1.0.0 (proc-macro)|MIT").unwrap().is_ours);
        assert_eq!(Linked::parse(""), None);
    }

    #[test]
    fn a_text_of_several_crates_stands_there_once() {
        let texts =
            BTreeMap::from([("Terms.".to_owned(), vec!["a 1 (MIT)".to_owned(), "b 2 (MIT)".to_owned()])]);
        let all = document(texts, &["c 3 (MIT)".to_owned()]);
        assert_eq!(all.matches("Terms.").count(), 1);
        assert!(
            all.contains("  a 1 (MIT)\n  b 2 (MIT)\n")
                && all.contains("no text")
                && all.contains("  c 3 (MIT)\n")
        );
    }

    #[test]
    fn the_terms_of_vendored_works_are_in_the_repository() {
        assert!(VENDORED.iter().all(|path| !Repo::here().read(path).unwrap().is_empty()));
    }
}
