//! What the pages of a release say agrees with the code: versions, formats, and the form of the changelog.

use std::collections::BTreeSet;

use super::Problem;
use super::tree::Tree;

const CHANGELOG: &str = "CHANGELOG.md";
const CITATION: &str = "CITATION.cff";
const STABILITY: &str = "docs/reference/stability.md";

/// The kinds of changes, in the order in which a version lists them.
const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Fixed", "Removed", "Security"];

/// The formats that have a number of their own: the start of the page's row, the file with the number, and its line.
const FORMATS: [(&str, &str, &str); 3] = [
    ("| records (", "crates/record/src/schema.rs", "pub const VERSION: u32 = "),
    ("| state of a deployed run (", "crates/net/src/state/database.rs", "pub const VERSION: i64 = "),
    ("| protocol |", "crates/net/src/wire/mod.rs", "pub const PROTOCOL: u32 = "),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = tree.text(CHANGELOG).map(changelog).unwrap_or_default();
    problems.extend(citation(tree));
    problems.extend(formats(tree));
    problems
}

/// The form of Keep a Changelog: known kinds, in order, none twice in a version, and no entry twice.
fn changelog(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut next = 0;
    let mut entries = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let mut problem = |message: String| problems.push(Problem::at(CHANGELOG, index + 1, message));
        if line.starts_with("## ") {
            next = 0;
        } else if let Some(kind) = line.strip_prefix("### ") {
            match KINDS.iter().position(|known| *known == kind) {
                Some(at) if at >= next => next = at + 1,
                Some(_) => {
                    problem(format!("`{kind}` comes twice or too late: the order is {}", KINDS.join(", ")));
                }
                None => problem(format!("`{kind}` is no kind of change: they are {}", KINDS.join(", "))),
            }
        } else if line.starts_with("- ") && !entries.insert(line) {
            problem("this entry is there already".to_owned());
        }
    }
    problems
}

/// The citation names the version of the crates.
fn citation(tree: &Tree) -> Option<Problem> {
    let wanted = value(tree.text("Cargo.toml")?, "version = \"")?.trim_end_matches('"');
    let found = value(tree.text(CITATION)?, "version: ").unwrap_or("none");
    let message = || format!("has version {found}, but the crates have {wanted}");
    (found != wanted).then(|| Problem::in_file(CITATION, message()))
}

/// The page on stability has the numbers of the formats.
fn formats(tree: &Tree) -> Vec<Problem> {
    let Some(page) = tree.text(STABILITY) else { return Vec::new() };
    let wrong = FORMATS.iter().filter_map(|(row, path, constant)| {
        let wanted = value(tree.text(path)?, constant)?.trim_end_matches(';');
        let found = page.lines().find(|line| line.starts_with(row)).and_then(|line| line.split('|').nth(2));
        let found = found.map_or("none", str::trim);
        let message = || format!("`{row}`: has version {found}, but {path} has {wanted}");
        (found != wanted).then(|| Problem::in_file(STABILITY, message()))
    });
    wrong.collect()
}

/// What follows on the first line that begins so.
fn value<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(start)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        changelog(text).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn kinds_of_changes_have_an_order_and_come_once() {
        assert_eq!(lines("## [Unreleased]\n### Added\n- a\n### Fixed\n## [0.1.0]\n### Added\n"), []);
        assert_eq!(lines("## [Unreleased]\n### Changed\n### Added\n### Added\n"), [3, 4]);
        assert_eq!(lines("### News\n"), [1]);
        assert_eq!(lines("- a\n- b\n- a\n"), [3]);
    }

    #[test]
    fn versions_that_differ_are_named_with_both_numbers() {
        let cargo = ("Cargo.toml", "[workspace.package]\nversion = \"0.2.0\"\n");
        let tree = Tree::of(&[cargo, (CITATION, "cff-version: 1.2.0\nversion: 0.1.0\n")]);
        let message = citation(&tree).unwrap().message;
        assert!(message.contains("0.1.0") && message.contains("0.2.0"), "{message}");
        let schema = (FORMATS[0].1, "pub const VERSION: u32 = 4;\n");
        let tree = Tree::of(&[schema, (STABILITY, "| records (`records.jsonl`) | 3 | x |\n")]);
        assert!(formats(&tree)[0].message.contains("version 3, but"));
        let tree = Tree::of(&[schema, (STABILITY, "| records (`records.jsonl`) | 4 | x |\n")]);
        assert_eq!(formats(&tree), []);
    }

    /// A constant that moved would let the page say anything.
    #[test]
    fn every_format_is_found_in_the_sources_and_on_the_page() {
        let repo = crate::repo::Repo::here();
        let page = repo.read(STABILITY).unwrap();
        for (row, path, constant) in FORMATS {
            assert!(value(&repo.read(path).unwrap(), constant).is_some(), "{path}: {constant}");
            assert!(page.lines().any(|line| line.starts_with(row)), "{row}");
        }
    }
}
