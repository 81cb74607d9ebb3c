//! Headings of a document name their content: one title, no skipped level, and nouns instead of bare adjectives.

use super::Problem;
use super::prose::{self, Kind, Passage};
use super::tree::Tree;

/// Headings of one word that say nothing about what is below them.
const BARE: &[&str] = &[
    "right", "fast", "small", "big", "new", "old", "good", "bad", "sure", "simple", "honest", "kind", "safe",
    "ready", "quick",
];

/// Beginnings of headings that are no nouns.
const BEGINNINGS: &[&str] =
    &["how fast", "how right", "how big", "what stands", "what it brings", "what there is"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let documents = tree.files().iter().filter(|(path, _)| path.ends_with(".md"));
    documents.flat_map(|(path, text)| in_document(path, &prose::passages(path, text))).collect()
}

fn in_document(path: &str, passages: &[Passage]) -> Vec<Problem> {
    let headings: Vec<(usize, usize, &str)> = passages
        .iter()
        .filter_map(|passage| match passage.kind {
            Kind::Heading(level) => Some((level, passage.line, passage.text.as_str())),
            _ => None,
        })
        .collect();
    let mut problems = Vec::new();
    for (_, line, title) in headings.iter().filter(|(level, ..)| *level == 1).skip(1) {
        problems.push(Problem::at(path, *line, format!("second title `{title}`: a document has one")));
    }
    for pair in headings.windows(2) {
        let (before, (level, line, title)) = (pair[0].0, pair[1]);
        if level > before + 1 {
            let message = format!("`{title}` skips a level: write {} instead of {level} marks", before + 1);
            problems.push(Problem::at(path, line, message));
        }
    }
    for (_, line, title) in &headings {
        let lower = title.trim_end_matches(['.', ':', '?']).to_lowercase();
        if BARE.contains(&lower.as_str()) || BEGINNINGS.iter().any(|words| lower.starts_with(words)) {
            let message = format!("`{title}` does not name its content: write a noun, such as `Performance`");
            problems.push(Problem::at(path, *line, message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("docs/a.md", text)])).into_iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn a_document_has_one_title_and_skips_no_level() {
        assert_eq!(lines("# A\n## B\n### C\n## D\n"), Vec::<usize>::new());
        assert_eq!(lines("# A\n# B\n"), [2]);
        assert_eq!(lines("# A\n### B\n#### C\n"), [2]);
        // A part of a document, such as a file for mail, may begin anywhere.
        assert_eq!(lines("## A\n### B\n"), Vec::<usize>::new());
    }

    #[test]
    fn a_heading_is_a_noun() {
        assert_eq!(lines("# A\n## Right\n## How fast\n## Correctness\n## Small fleets\n"), [2, 3]);
    }
}
