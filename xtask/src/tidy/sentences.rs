//! A sentence of the documentation has at most 35 words; most have fewer than 25.

use super::prose::{self, Kind};
use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/long-sentences.txt",
    limit: 35,
    unit: "words in this sentence",
    remedy: "one idea per sentence",
    offenders,
};

/// A full stop behind one of these does not end a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "cf.", "vs.", "al.", "Fig.", "No.", "approx."];

fn offenders(tree: &Tree) -> Vec<Offender> {
    let mut found: Vec<Offender> = Vec::new();
    // What a program has written into an archive stays as it was.
    let is_archived = |path: &str| path.starts_with("experiments/") && path.ends_with("/tables.md");
    let pages = tree.files().iter().filter(|(path, _)| path.ends_with(".md") && !is_archived(path));
    for (path, text) in pages {
        for passage in
            prose::passages(path, text).into_iter().filter(|passage| passage.kind == Kind::Paragraph)
        {
            let text = prose::without_code(&passage.text);
            for sentence in sentences(&text) {
                let count = prose::words(&sentence);
                if count > RATCHET.limit {
                    let what = beginning(&sentence);
                    found.push(Offender { path: path.clone(), line: passage.line, what, count });
                }
            }
        }
    }
    found
}

/// Enough of a sentence to find it by.
fn beginning(sentence: &str) -> String {
    sentence.split_whitespace().take(5).collect::<Vec<_>>().join(" ")
}

/// A sentence ends with a full stop, a question mark, an exclamation mark or a colon before a space.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(last) = sentences.last_mut() {
            last.push_str(word);
            last.push(' ');
        }
        let bare = word.trim_end_matches([')', '"', '*', '_', '”', '’']);
        if bare.ends_with(['.', '?', '!', ':']) && !ABBREVIATIONS.contains(&bare) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize)> {
        let tree = Tree::of(&[("docs/a.md", text)]);
        offenders(&tree).into_iter().map(|offender| (offender.line, offender.count)).collect()
    }

    #[test]
    fn a_sentence_of_36_words_is_found_where_its_paragraph_begins() {
        let of = |words: usize| format!("Short.\n\nOne. {}end.\n", "word ".repeat(words - 1));
        assert_eq!(found(&of(35)), []);
        assert_eq!(found(&of(36)), [(3, 36)]);
    }

    #[test]
    fn sentences_end_with_their_marks_and_not_with_abbreviations() {
        assert_eq!(sentences("One (two). Three, e.g. four? \"Five.\" v1.2 six: seven").len(), 5);
    }

    #[test]
    fn code_is_one_word_and_tables_and_code_blocks_are_not_sentences() {
        let many = "word ".repeat(40);
        assert_eq!(found(&format!("See `{many}` here.\n")), []);
        assert_eq!(found(&format!("| {many} |\n\n```text\n{many}\n```\n")), []);
    }
}
