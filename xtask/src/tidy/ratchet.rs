//! A rule that was not always kept. A list beside it names the places that still break it and by how much; the list
//! may only shrink. `cargo xtask tidy --shrink` drops lines that are no longer needed and lowers their numbers.

use std::collections::BTreeMap;

use super::Problem;
use super::tree::Tree;

/// A limit and the list of places that are still above it.
#[derive(Debug)]
pub(super) struct Ratchet {
    /// Of lines `NUMBER KEY`; `#` begins a comment.
    pub(super) list: &'static str,
    pub(super) limit: usize,
    /// The unit of the count, in words.
    pub(super) unit: &'static str,
    pub(super) remedy: &'static str,
    pub(super) offenders: fn(&Tree) -> Vec<Offender>,
}

/// A place above the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offender {
    pub(super) path: String,
    pub(super) line: usize,
    /// What in the file is meant; empty for the file itself.
    pub(super) what: String,
    pub(super) count: usize,
}

impl Offender {
    fn key(&self) -> String {
        if self.what.is_empty() { self.path.clone() } else { format!("{} {}", self.path, self.what) }
    }
}

impl Ratchet {
    pub(super) fn check(&self, tree: &Tree) -> Vec<Problem> {
        let list = tree.text(self.list).unwrap_or_default();
        let offenders = (self.offenders)(tree);
        let allowed: BTreeMap<&str, usize> = entries(list).map(|(_, count, key)| (key, count)).collect();
        let mut problems = Vec::new();
        for offender in &offenders {
            let (count, key) = (offender.count, offender.key());
            let (what, unit) = (&offender.what, self.unit);
            let allowed = allowed.get(key.as_str()).copied().unwrap_or(self.limit);
            if count > allowed {
                let named = if what.is_empty() { String::new() } else { format!("`{what}`: ") };
                let message = format!("{named}{count} {unit}, over {allowed}: {}", self.remedy);
                problems.push(Problem::at(&offender.path, offender.line, message));
            }
        }
        problems.extend(self.slack(list, &offenders));
        problems
    }

    /// Entries that allow more than there is: the room would hide the next offender.
    fn slack(&self, list: &str, offenders: &[Offender]) -> Vec<Problem> {
        let slack = entries(list).filter_map(|(line, allowed, key)| {
            let now = match offenders.iter().find(|offender| offender.key() == key) {
                Some(offender) if offender.count >= allowed => return None,
                Some(offender) => format!("has {} {} now, below {allowed}", offender.count, self.unit),
                None => "keeps the rule now".to_owned(),
            };
            let message = format!("`{key}` {now}: run `cargo xtask tidy --shrink`");
            Some(Problem::at(self.list, line, message))
        });
        slack.collect()
    }

    /// The list with fewer lines and lower numbers; never with more or higher ones.
    pub(super) fn shrunk(&self, tree: &Tree) -> String {
        let offenders = (self.offenders)(tree);
        let list = tree.text(self.list).unwrap_or_default();
        let mut text: String =
            list.lines().filter(|line| line.starts_with('#')).map(|l| format!("{l}\n")).collect();
        for (_, allowed, key) in entries(list) {
            if let Some(offender) = offenders.iter().find(|offender| offender.key() == key) {
                text.push_str(&format!("{} {key}\n", allowed.min(offender.count)));
            }
        }
        text
    }
}

/// Line, number and key of each entry.
fn entries(list: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    list.lines().enumerate().filter_map(|(index, line)| {
        let (count, key) = line.split_once(' ')?;
        Some((index + 1, count.parse().ok()?, key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATCHET: Ratchet = Ratchet {
        list: "list.txt",
        limit: 3,
        unit: "lines",
        remedy: "split it",
        offenders: |tree| {
            let count = |text: &str| text.lines().count();
            let long = tree.rust().filter(|(_, text)| count(text) > 3);
            long.map(|(path, text)| Offender {
                path: path.to_owned(),
                line: 0,
                what: String::new(),
                count: count(text),
            })
            .collect()
        },
    };

    fn tree(list: &str, lines: usize) -> Tree {
        Tree::of(&[("list.txt", list), ("a.rs", &"\n".repeat(lines))])
    }

    #[test]
    fn what_is_listed_may_stay_and_nothing_may_grow() {
        assert_eq!(RATCHET.check(&tree("", 3)), []);
        assert_eq!(RATCHET.check(&tree("# why\n5 a.rs\n", 5)), []);
        for (list, lines) in [("", 4), ("5 a.rs\n", 6), ("5 b.rs\n5 a.rs\n", 6)] {
            assert!(RATCHET.check(&tree(list, lines))[0].message.contains("split it"), "{list}");
        }
    }

    #[test]
    fn what_keeps_the_rule_must_leave_the_list() {
        let problems = RATCHET.check(&tree("# why\n5 a.rs\n", 3));
        assert_eq!((problems[0].path.as_str(), problems[0].line), ("list.txt", 2));
        assert_eq!(RATCHET.shrunk(&tree("# why\n5 a.rs\n4 gone.rs\n", 3)), "# why\n");
    }

    #[test]
    fn a_number_above_the_count_must_fall() {
        let problems = RATCHET.check(&tree("# why\n6 a.rs\n", 5));
        assert_eq!((problems[0].path.as_str(), problems[0].line, problems.len()), ("list.txt", 2, 1));
        assert!(problems[0].message.contains("has 5 lines now, below 6: run `cargo xtask tidy --shrink`"));
        assert_eq!(RATCHET.check(&tree(&RATCHET.shrunk(&tree("6 a.rs\n", 5)), 5)), []);
    }

    #[test]
    fn the_list_only_shrinks() {
        assert_eq!(RATCHET.shrunk(&tree("6 a.rs\n", 5)), "5 a.rs\n");
        assert_eq!(RATCHET.shrunk(&tree("5 a.rs\n", 6)), "5 a.rs\n");
        assert_eq!(RATCHET.shrunk(&tree("", 6)), "");
    }
}
