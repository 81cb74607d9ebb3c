//! Files stay small enough to hold one concept. A ratchet, because growth comes a line at a time:
//! a file past the limit needs a reason, may not grow past what was granted, and loses its grant
//! once it shrinks.

use super::Problem;
use super::tree::Tree;

const LINES_MAX: usize = 500;

/// A file that may be longer.
#[derive(Debug)]
struct Grant {
    path: &'static str,
    lines_max: usize,
    reason: &'static str,
}

const GRANTS: &[Grant] = &[];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    check_with(tree, GRANTS)
}

fn check_with(tree: &Tree, grants: &[Grant]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = tree
        .rust()
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            let grant = grants.iter().find(|grant| grant.path == path);
            Some(Problem::in_file(path, objection(lines, grant)?))
        })
        .collect();
    let gone = grants.iter().filter(|grant| tree.text(grant.path).is_none());
    problems.extend(gone.map(|grant| {
        let message = "no such file: remove its grant in xtask/src/tidy/size.rs";
        Problem::in_file(grant.path, message)
    }));
    problems
}

fn objection(lines: usize, grant: Option<&Grant>) -> Option<String> {
    match grant {
        None if lines > LINES_MAX => Some(format!(
            "{lines} lines, over {LINES_MAX}: split it by concept, or grant it a reason in \
             xtask/src/tidy/size.rs"
        )),
        Some(grant) if lines > grant.lines_max => Some(format!(
            "{lines} lines, over the {} granted because {}: split it",
            grant.lines_max, grant.reason
        )),
        Some(_) if lines <= LINES_MAX => Some(format!(
            "{lines} lines, back within {LINES_MAX}: remove its grant in xtask/src/tidy/size.rs"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANT: Grant = Grant { path: "crates/one/src/table.rs", lines_max: 600, reason: "it is one table" };

    fn messages(lines: usize, grants: &[Grant]) -> Vec<String> {
        let tree = Tree::of(&[(GRANT.path, &"//\n".repeat(lines))]);
        let problems = check_with(&tree, grants).into_iter();
        problems.map(|problem| problem.message).collect()
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        assert!(messages(500, &[]).is_empty());
        assert_eq!(messages(501, &[]).len(), 1);
    }

    #[test]
    fn a_grant_gives_room_but_not_without_end() {
        assert!(messages(600, &[GRANT]).is_empty());
        assert!(messages(601, &[GRANT])[0].contains("it is one table"));
    }

    #[test]
    fn a_grant_that_is_no_longer_needed_must_go() {
        assert!(messages(500, &[GRANT])[0].contains("remove its grant"));
        let gone = check_with(&Tree::of(&[]), &[GRANT]);
        assert!(gone[0].message.contains("no such file"));
    }
}
