//! Files stay small enough to hold one concept: 300 lines outside tests and tables, 500 with all tests; 400
//! in the Python package, and 750 in its tests. The README is a page that people read to its end: 150 lines.

use super::Problem;
use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;
use crate::source::Source;

/// With tests, in any Rust file.
const WHOLE_MAX: usize = 500;
/// In the Python package and its examples: docstrings take more room than doc comments.
const PYTHON_MAX: usize = 400;
/// In its tests, each file of which has one subject.
const PYTHON_TESTS_MAX: usize = 750;
/// Of the README, with empty lines: longer explanations belong into `docs/`.
const README_MAX: usize = 150;
const README: &str = "README.md";

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/long-files.txt",
    limit: 300,
    unit: "lines outside tests",
    remedy: "split it by concept",
    offenders,
};

/// Files that are one table, where a split would only scatter the rows.
const TABLES: &[&str] = &[];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.files() {
        let (lines, Some(limit)) = (text.lines().count(), limit_of(path)) else { continue };
        if lines > limit {
            let remedy = if path == README { "move details to docs/" } else { RATCHET.remedy };
            problems.push(Problem::in_file(path, format!("{lines} lines, over {limit}: {remedy}")));
        }
    }
    problems
}

/// The most lines of a file, if there is a limit.
fn limit_of(path: &str) -> Option<usize> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "md" if path == README => Some(README_MAX),
        "rs" => Some(WHOLE_MAX),
        // A stub has one line for each thing of its module, which is one.
        "py" if path.starts_with("python/tests/") => Some(PYTHON_TESTS_MAX),
        "py" if path.starts_with("python/") => Some(PYTHON_MAX),
        _ => None,
    }
}

fn offenders(tree: &Tree) -> Vec<Offender> {
    let files = tree.production().filter(|(path, _)| !TABLES.contains(path));
    files
        .map(|(path, text)| Offender {
            path: path.to_owned(),
            line: 0,
            what: String::new(),
            count: Source::read(text).lines(),
        })
        .filter(|offender| offender.count > RATCHET.limit)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: usize, tests: usize) -> (usize, usize) {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "//\n".repeat(code), "//\n".repeat(tests));
        let tree = Tree::of(&[("crates/one/Cargo.toml", ""), (path, &text)]);
        (offenders(&tree).len(), check(&tree).len())
    }

    #[test]
    fn tests_count_for_the_whole_file_alone() {
        assert_eq!(found("crates/one/src/a.rs", 300, 197), (0, 0));
        assert_eq!(found("crates/one/src/a.rs", 301, 1), (1, 0));
        assert_eq!(found("crates/one/src/a.rs", 300, 198), (0, 1));
        assert_eq!(found("crates/one/tests/a.rs", 400, 1), (0, 0));
    }

    #[test]
    fn the_readme_has_150_lines_and_other_pages_have_no_limit() {
        let of = |path: &str, lines: usize| check(&Tree::of(&[(path, &"x\n".repeat(lines))]));
        assert_eq!((of(README, 150).len(), of("docs/README.md", 151).len()), (0, 0));
        assert!(of(README, 151)[0].message.contains("over 150: move details to docs/"));
    }

    #[test]
    fn a_python_file_has_a_limit_and_its_stub_has_none() {
        let of = |path: &str, lines: usize| check(&Tree::of(&[(path, &"#\n".repeat(lines))])).len();
        assert_eq!((of("python/fedflip/a.py", 400), of("python/fedflip/a.py", 401)), (0, 1));
        assert_eq!((of("python/fedflip/a.pyi", 401), of("python/notebooks/a.ipynb", 4000)), (0, 0));
    }
}
