//! Words that must not be committed: paths that exist on one machine only, and the hosts of
//! package registries, which are each machine's own set-up and no business of the project's.

use super::Problem;
use super::tree::Tree;

/// Lock files record where each package came from; that is their purpose.
const EXEMPT: &[&str] = &["Cargo.lock", "package-lock.json"];

/// What must not appear, in two halves so that this table does not find itself.
const BANNED: &[(&str, &str, &str)] = &[
    ("/wo", "rk/", PATH),
    ("/ro", "ot/", PATH),
    ("/ho", "me/", PATH),
    ("/Us", "ers/", PATH),
    ("/var/t", "mp/", PATH),
    ("/tmp/ipy", "kernel", PATH),
    ("crat", "es.io", HOST),
    ("deb.deb", "ian.org", HOST),
    ("npm", "js.com", HOST),
    ("npm", "js.org", HOST),
    ("py", "pi.org", HOST),
    ("python", "hosted.org", HOST),
];

const PATH: &str = "is a path of one machine: write it relative to the repository";
const HOST: &str = "is a package registry: name the package, the client knows where to look";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let banned: Vec<(String, &str)> =
        BANNED.iter().map(|(head, tail, reason)| (format!("{head}{tail}"), *reason)).collect();
    let mut problems = Vec::new();
    for (path, text) in tree.files() {
        if EXEMPT.contains(&path.rsplit('/').next().unwrap_or(path)) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let found = banned.iter().filter(|(word, _)| line.contains(word));
            problems.extend(
                found.map(|(word, reason)| Problem::at(path, index + 1, format!("`{word}` {reason}"))),
            );
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_banned_word_is_found_with_its_line() {
        for (head, tail, _) in BANNED {
            let text = format!("fine\nsee x{head}{tail}y\n");
            let problems = check(&Tree::of(&[("docs/a.md", &text)]));
            assert_eq!(problems.len(), 1, "{head}{tail}");
            assert_eq!(problems[0].line, 2);
        }
    }

    #[test]
    fn lock_files_are_exempt_wherever_they_are() {
        let text = format!("source = \"{}{}\"\n", "crat", "es.io");
        let tree = Tree::of(&[("Cargo.lock", &text), ("web/package-lock.json", &text)]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn this_very_file_is_clean() {
        let tree = Tree::of(&[("xtask/src/tidy/words.rs", include_str!("words.rs"))]);
        assert_eq!(check(&tree), []);
    }
}
