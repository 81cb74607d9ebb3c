//! Files stay small enough to hold one concept: 300 lines outside tests and tables, 500 with all tests.

use super::Problem;
use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;
use crate::source::Source;

/// With tests, in any Rust file.
const WHOLE_MAX: usize = 500;

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
    let long = tree.rust().map(|(path, text)| (path, text.lines().count()));
    long.filter(|(_, lines)| *lines > WHOLE_MAX)
        .map(|(path, lines)| {
            Problem::in_file(path, format!("{lines} lines, over {WHOLE_MAX}: split it by concept"))
        })
        .collect()
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
}
