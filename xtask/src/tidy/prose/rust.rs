//! Comments and strings of Rust. Doc comments and other comments are told apart.

use super::{Kind, Lines, Passage};
use crate::source::Source;

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let source = Source::read(text);
    let mut passages = comments(text, &source);
    for literal in &source.strings {
        // One word is a name, not a sentence.
        if literal.value.trim().contains(' ') {
            let line = source.line_of(literal.place.start);
            let joined: Vec<&str> =
                literal.value.split('\n').map(|l| l.trim().trim_end_matches('\\')).collect();
            passages.push(Passage { kind: Kind::String, line, text: joined.join(" ") });
        }
    }
    passages.sort_by_key(|passage| passage.line);
    passages
}

fn comments(text: &str, source: &Source) -> Vec<Passage> {
    let (mut passages, mut lines, mut kind) = (Vec::new(), Lines::default(), Kind::Comment);
    let (mut last, mut in_code) = (0, false);
    for place in &source.comments {
        let comment = &text[place.clone()];
        let line = source.line_of(place.start);
        let (this, content) = match ["///", "//!", "//"].iter().find_map(|mark| comment.strip_prefix(mark)) {
            Some(content) if comment.starts_with("////") => (Kind::Comment, content),
            Some(content) if comment.starts_with("///") || comment.starts_with("//!") => (Kind::Doc, content),
            Some(content) => (Kind::Comment, content),
            None => (Kind::Comment, comment),
        };
        if this != kind || line != last + 1 {
            lines.end(kind, &mut passages);
            in_code = false;
        }
        (kind, last) = (this, line);
        let content = content.trim();
        if content.starts_with("```") {
            in_code = !in_code;
            lines.end(kind, &mut passages);
        } else if content.is_empty() || content.starts_with(['#', '|']) {
            lines.end(kind, &mut passages);
        } else if !in_code {
            if content.starts_with("- ") {
                lines.end(kind, &mut passages);
            }
            lines.push(line, content);
        }
    }
    lines.end(kind, &mut passages);
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Kind, usize, String)> {
        passages(text).into_iter().map(|passage| (passage.kind, passage.line, passage.text)).collect()
    }

    #[test]
    fn lines_of_one_comment_belong_together() {
        let text = "//! One\n//! two.\n//!\n//! Three.\n\n// why\nlet a = 1; // here\n/// Doc.\nfn f() {}\n";
        let expected = [
            (Kind::Doc, 1, "One two.".to_owned()),
            (Kind::Doc, 4, "Three.".to_owned()),
            (Kind::Comment, 6, "why here".to_owned()),
            (Kind::Doc, 8, "Doc.".to_owned()),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn strings_of_several_words_are_prose_and_code_in_docs_is_not() {
        let text = "/// A.\n///\n/// ```\n/// let x = 1;\n/// ```\nf(\"two words\", \"name\", \"over \\\n  lines\");\n";
        let expected = [
            (Kind::Doc, 1, "A.".to_owned()),
            (Kind::String, 6, "two words".to_owned()),
            (Kind::String, 6, "over  lines".to_owned()),
        ];
        assert_eq!(read(text), expected);
    }
}
