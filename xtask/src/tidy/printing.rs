//! Only the binary prints. A library that does spoils `--json` and every caller's screen.

use super::Problem;
use super::tree::Tree;

/// The packages whose job is to talk to a person.
const MAY_PRINT: &[&str] = &["crates/fedflip", "crates/lab", "xtask"];

/// `print!` is found inside `eprint!` too, and so are its longer forms.
const MACROS: &[&str] = &["print!(", "println!(", "dbg!("];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.packages().filter(|folder| !MAY_PRINT.contains(folder)) {
        let sources = format!("{folder}/src/");
        for (path, text) in tree.rust().filter(|(path, _)| path.starts_with(&sources)) {
            for (index, line) in text.lines().enumerate() {
                // An example in the docs may print: it is the caller there.
                let is_comment = line.trim_start().starts_with("//");
                if !is_comment && MACROS.iter().any(|call| line.contains(call)) {
                    let message = "only the fedflip binary prints: return the value instead";
                    problems.push(Problem::at(path, index + 1, message));
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, line: &str) -> usize {
        let tree =
            Tree::of(&[("crates/fedflip/Cargo.toml", ""), ("crates/plan/Cargo.toml", ""), (path, line)]);
        check(&tree).len()
    }

    #[test]
    fn a_library_must_not_print() {
        for call in ["print!(1)", "println!(1)", "eprint!(1)", "eprintln!(1)", "dbg!(1)"] {
            assert_eq!(count("crates/plan/src/a.rs", call), 1, "{call}");
        }
    }

    #[test]
    fn the_binary_tests_and_doc_examples_may() {
        assert_eq!(count("crates/fedflip/src/a.rs", "println!(1)"), 0);
        assert_eq!(count("crates/plan/tests/a.rs", "println!(1)"), 0);
        assert_eq!(count("crates/plan/src/a.rs", "/// println!(1)"), 0);
        assert_eq!(count("crates/plan/src/a.rs", "writeln!(f, 1)"), 0);
    }
}
