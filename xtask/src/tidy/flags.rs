//! Libraries name no flags: their errors carry data, and `advice.rs` of a program says which flag helps. A library's
//! other callers have no command line.

use super::Problem;
use super::tree::Tree;
use crate::source::{Source, is_test_file};

/// Programs, which have a command line, and the parts of the agent's library that are about its own.
const PROGRAMS: &[&str] = &[
    "crates/fedflip/",
    "crates/lab/",
    "crates/agent/src/args.rs",
    "crates/agent/src/advice.rs",
    "crates/agent/src/main.rs",
];

/// Files that may name flags, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/datasets/src/archive.rs", "calls dpkg-deb, whose flags these are"),
    ("crates/datasets/src/download.rs", "calls curl, npm and pip, whose flags these are"),
    ("crates/scenario/src/keys/plan.rs", "describes a key for the file that `fedflip scenario new` writes"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| is_library(path)) {
        let source = Source::read(text);
        let literals = source.strings.iter().filter(|literal| !source.is_test(literal.place.start));
        for literal in literals {
            if let Some(flag) = first_flag(&literal.value) {
                let message =
                    format!("a library names the flag {flag}: carry data, and name the flag in advice.rs");
                problems.push(Problem::at(path, source.line_of(literal.place.start), message));
            }
        }
    }
    problems
}

fn is_library(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && !path.contains("/src/bin/");
    is_source
        && !is_test_file(path)
        && !PROGRAMS.iter().any(|program| path.starts_with(program))
        && !EXCEPTIONS.iter().any(|(exception, _)| path == *exception)
}

/// `--set` of `write --set KEY`: two dashes that no word precedes, and a small letter.
fn first_flag(text: &str) -> Option<&str> {
    text.match_indices("--").find_map(|(at, dashes)| {
        let name = &text[at + dashes.len()..];
        let is_flag = name.starts_with(|c: char| c.is_ascii_lowercase())
            && !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(name.len());
        is_flag.then(|| &text[at..at + dashes.len() + end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_library_must_not_name_a_flag() {
        let text = "fn hint() -> &'static str {\n    \"name another --out\"\n}\n";
        assert_eq!(lines("crates/plan/src/error.rs", text), [2]);
        assert_eq!(lines("crates/agent/src/join.rs", text), [2]);
        assert_eq!(first_flag("give --pilot-keep, or --seed"), Some("--pilot-keep"));
    }

    #[test]
    fn programs_tests_and_comments_may() {
        let text = "\"name another --out\"";
        for path in [
            "crates/fedflip/src/advice.rs",
            "crates/agent/src/advice.rs",
            "crates/plan/src/bin/tool.rs",
            "crates/plan/src/tests.rs",
            "crates/plan/tests/flags.rs",
            "xtask/src/main.rs",
            EXCEPTIONS[0].0,
        ] {
            assert_eq!(lines(path, text), [], "{path}");
        }
        let of_tests = "// Of --out.\n#[cfg(test)]\nmod tests {\n    const OUT: &str = \"--out\";\n}\n";
        assert_eq!(lines("crates/plan/src/a.rs", of_tests), []);
    }

    #[test]
    fn dashes_alone_are_no_flag() {
        for text in ["a -- b", "---x", "page--wide", "--", "--{flag}", "-o"] {
            assert_eq!(first_flag(text), None, "{text}");
        }
    }

    /// An exception that is not needed any more would hide the next flag.
    #[test]
    fn every_exception_is_needed() {
        let tree = Tree::load(&crate::repo::Repo::here()).unwrap();
        for (path, why) in EXCEPTIONS {
            let text = tree.rust().find(|(file, _)| file == path).map(|(_, text)| text).unwrap_or_default();
            let source = Source::read(text);
            assert!(
                source.strings.iter().any(|literal| first_flag(&literal.value).is_some()),
                "{path}: {why}"
            );
        }
    }
}
