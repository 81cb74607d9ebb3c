//! Sources have one form of white space, so that a diff shows only what somebody meant.

use super::Problem;
use super::tree::Tree;
use super::vendor;

/// What people write by hand. Data and snapshots are left alone: a fleet file with CRLF may be
/// the very thing that a test is about.
const ENDINGS: &[&str] =
    &[".rs", ".toml", ".md", ".py", ".pyi", ".sh", ".yml", ".yaml", ".css", ".js", ".mjs", ".html"];
const NAMES: &[&str] = &[".ci/run", ".gitignore", "LICENSE-APACHE", "LICENSE-MIT"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let written = |path: &str| {
        !vendor::is_vendored(path) && (NAMES.contains(&path) || ENDINGS.iter().any(|end| path.ends_with(end)))
    };
    let mut problems = Vec::new();
    for (path, text) in tree.files().iter().filter(|(path, _)| written(path)) {
        problems.extend(in_lines(path, text));
        if !text.is_empty() && !text.ends_with('\n') {
            problems.push(Problem::in_file(path, "must end with a newline"));
        }
        if text.ends_with("\n\n") {
            problems.push(Problem::in_file(path, "must end with one newline only"));
        }
    }
    problems
}

fn in_lines(path: &str, text: &str) -> Vec<Problem> {
    // `lines` would swallow a carriage return, which is just what is looked for.
    let lines = text.split('\n').enumerate();
    lines
        .filter_map(|(index, line)| {
            let message = if line.contains('\r') {
                "carriage return: lines end with a newline only"
            } else if line.contains('\t') {
                "tab: indent with spaces, and write \\t inside a string"
            } else if line.ends_with(char::is_whitespace) {
                "white space at the end of the line"
            } else {
                return None;
            };
            Some(Problem::at(path, index + 1, message))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<usize> {
        let problems = check(&Tree::of(&[("a.rs", text)])).into_iter();
        problems.map(|problem| problem.line).collect()
    }

    #[test]
    fn each_fault_is_found_on_its_line() {
        assert_eq!(places("fine\n"), Vec::<usize>::new());
        assert_eq!(places(""), Vec::<usize>::new());
        assert_eq!(places("fine\nspace \n"), [2]);
        assert_eq!(places("\ttab\n"), [1]);
        assert_eq!(places("dos\r\n"), [1]);
        assert_eq!(places("no end"), [0]);
        assert_eq!(places("two ends\n\n"), [0]);
    }

    #[test]
    fn data_may_be_as_ugly_as_its_test_needs() {
        let tree = Tree::of(&[("crates/fleet/tests/dos.csv", "a,b\r\n1,2 ")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn what_others_wrote_stays_as_they_wrote_it() {
        let ugly =
            [("crates/dashboard/assets/vendor/uplot/a.js", "\tx "), ("crates/dashboard/assets/a.js", "\tx ")];
        let problems = check(&Tree::of(&ugly));
        assert!(problems.iter().all(|problem| problem.path == ugly[1].0), "{problems:?}");
        assert_eq!(problems.len(), 2);
    }
}
