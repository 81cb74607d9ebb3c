//! `cargo xtask tidy`: rules of this repository that no compiler knows, one file a rule.
//!
//! Each rule is a function from the tree of files to the problems it finds, so that its tests
//! need no disk. All problems are shown at once: a person mends them in one go.

mod docs;
mod edges;
mod flags;
mod functions;
mod glossary;
mod headings;
mod manifest;
mod names;
mod printing;
mod prose;
mod ratchet;
mod reach;
mod release;
mod sentences;
mod size;
pub(crate) mod tree;
mod trivial_docs;
mod vendor;
mod whitespace;
mod words;

use std::fmt;
use std::fs;

use crate::error::TaskError;
use crate::repo::Repo;
use ratchet::Ratchet;
use tree::Tree;

/// A place that breaks a rule, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    /// From 1; zero where the whole file is meant.
    line: usize,
    message: String,
}

impl Problem {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }

    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

const RULES: &[fn(&Tree) -> Vec<Problem>] = &[
    edges::check,
    flags::check,
    reach::check,
    release::check,
    size::check,
    words::check,
    docs::check,
    headings::check,
    whitespace::check,
    printing::check,
    vendor::check,
];

/// Rules with a list of places that still break them.
const RATCHETS: &[&Ratchet] = &[
    &size::RATCHET,
    &functions::RATCHET,
    &names::RATCHET,
    &glossary::RATCHET,
    &trivial_docs::RATCHET,
    &sentences::RATCHET,
];

/// The task with its arguments: `--shrink` tightens the lists first.
pub(crate) fn task(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    match args {
        [] => {}
        [shrink] if shrink == "--shrink" => {
            let tree = Tree::load(repo)?;
            for ratchet in RATCHETS {
                let path = repo.path(ratchet.list);
                fs::write(&path, ratchet.shrunk(&tree)).map_err(|source| TaskError::File { path, source })?;
            }
        }
        _ => return Err(TaskError::Usage(format!("`tidy` knows --shrink, not `{}`", args.join(" ")))),
    }
    run(repo)
}

pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    let tree = Tree::load(repo)?;
    let problems = problems(&tree);
    for problem in &problems {
        println!("   {problem}");
    }
    match problems.len() {
        0 => {
            println!("   {} files are tidy", tree.files().len());
            Ok(())
        }
        count => Err(TaskError::Untidy { count }),
    }
}

fn problems(tree: &Tree) -> Vec<Problem> {
    let mut problems: Vec<Problem> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    problems.extend(RATCHETS.iter().flat_map(|ratchet| ratchet.check(tree)));
    problems.sort();
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_keeps_every_rule_has_no_problem() {
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", "`crates/fleet`: the nouns.\n"),
            ("crates/fleet/Cargo.toml", "[package]\nname = \"fedflip-fleet\"\n"),
            ("crates/fleet/src/lib.rs", "//! The nouns of a fleet.\n//!\n//! # Layout\n\nmod unit;\n"),
            ("crates/fleet/src/unit.rs", "//! Units with their conversions.\n"),
        ]);
        assert_eq!(problems(&tree), []);
    }

    #[test]
    fn every_broken_rule_is_shown_in_order_of_place() {
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", "`crates/fleet`: the nouns.\n"),
            ("crates/fleet/Cargo.toml", "[package]\nname = \"fedflip-fleet\"\n"),
            ("crates/fleet/src/lib.rs", "//! # Layout\n"),
            ("crates/fleet/src/lost.rs", "fn f() { dbg!(1); }  \n"),
        ]);
        let shown: Vec<String> = problems(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown[0].starts_with("crates/fleet/src/lost.rs: "));
        assert!(shown[1].starts_with("crates/fleet/src/lost.rs:1: "));
    }
}
